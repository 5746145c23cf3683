/**
 * The contract of sharing numbers among workers (`NumberOwnership`), over a store's `ShardLeases`.
 * A store's own tests call `ownershipContract` with a layer of an empty store for each test, over
 * resources shared by all of them.
 */
import { assert, layer } from "@effect/vitest"
import { shardCount, Store } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { Deferred, Effect, Exit, Latch, Layer, Option, Random } from "effect"
import { aNumber, aWorkspace, noon } from "../store/Records.ts"
import { makeWorkers, numbers } from "./Workers.ts"
import type { TestWorker, Workers } from "./Workers.ts"

/** Time limit for taking over from a dead worker. */
const longestSeconds = 13

const isWhole = (workers: Workers) => () => workers.holders().every((name) => name !== null)

/** How many shards moved from one of them to another. */
const moved = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>) =>
  before.filter((name, shard) => name !== after[shard]).length

/** A number with a session. */
const aLinkedNumber = Effect.gen(function* () {
  const { id: workspaceId } = yield* aWorkspace()
  const { id } = yield* aNumber(workspaceId)
  yield* (yield* Store).sessions.write(id, "credentials", [], noon, null)
  return id
})

const getNumbers = (worker: TestWorker, all: ReadonlyArray<NumberId>) =>
  all.filter((id) => worker.ownership.owns(id)).length

export interface OwnershipContractOptions {
  /** How many random histories to run; fewer where each takes long. Default 3. */
  readonly histories?: number
}

export const ownershipContract = <Shared = never>(
  name: string,
  shared: Layer.Layer<Shared, unknown>,
  stores: Layer.Layer<Store, unknown, Shared>,
  { histories = 3 }: OwnershipContractOptions = {},
): void => {
  layer(shared)(name, (it) => {
    const test = <E>(
      rule: string,
      body: (workers: Workers) => Effect.Effect<unknown, E, Store>,
      timeout = 30_000,
    ) =>
      it.effect(
        rule,
        () =>
          Effect.flatMap(makeWorkers, body).pipe(
            Effect.scoped,
            Effect.provide(Layer.fresh(stores)),
          ),
        timeout,
      )

    test("the first worker takes all shards at once", (workers) =>
      Effect.gen(function* () {
        const first = yield* workers.start("first")
        assert.strictEqual(first.count(), shardCount)
        const id = numbers[7] as NumberId
        assert.strictEqual(yield* first.ownership.findOwner(id), "first")
        assert.deepStrictEqual(
          yield* first.ownership.whileOwned(id, Effect.succeed(1)),
          Option.some(1),
        )
      }))

    test("shares differ by at most one, and a join moves only one share, to the joining worker", (workers) =>
      Effect.gen(function* () {
        yield* workers.start("1")
        for (let count = 2; count <= 7; count++) {
          const before = workers.holders()
          const joining = yield* workers.start(String(count))
          const fair = shardCount / count
          yield* workers.passUntil(
            () => joining.count() >= Math.floor(fair) && isWhole(workers)(),
            10,
          )
          yield* workers.pass(10)
          const after = workers.holders()
          for (let one = 1; one <= count; one++) {
            const share = after.filter((owner) => owner === String(one)).length
            assert.isTrue(share === Math.floor(fair) || share === Math.ceil(fair), `${share}`)
          }
          assert.strictEqual(moved(before, after), joining.count())
        }
      }))

    test("a worker that stops cleanly hands over within two polls, and only its share moves", (workers) =>
      Effect.gen(function* () {
        const all = yield* Effect.forEach(["1", "2", "3", "4"], (one) => workers.start(one))
        yield* workers.pass(15)
        const before = workers.holders()
        const [leaving] = all
        const held = leaving?.has() ?? []
        yield* leaving?.stop ?? Effect.void
        // Polls come every second and a half, and once more at the next step of this clock when
        // another worker had locked a shard's row.
        assert.isAtMost(yield* workers.passUntil(isWhole(workers)), 3.5)
        yield* workers.pass(10)
        assert.strictEqual(moved(before, workers.holders()), held.length)
      }))

    test("others take a killed worker's shards in time", (workers) =>
      Effect.gen(function* () {
        const [first] = yield* Effect.forEach(["1", "2", "3"], (one) => workers.start(one))
        yield* workers.pass(15)
        const before = workers.holders()
        const held = first?.count() ?? 0
        yield* first?.kill ?? Effect.void
        assert.isAtMost(yield* workers.passUntil(isWhole(workers)), longestSeconds)
        yield* workers.pass(10)
        assert.strictEqual(moved(before, workers.holders()), held)
      }))

    test("a worker that starts after one was killed waits for the end of its lease", (workers) =>
      Effect.gen(function* () {
        const first = yield* workers.start("first")
        yield* first.kill
        const second = yield* workers.start("second")
        assert.strictEqual(second.count(), 0)
        assert.isAtMost(yield* workers.passUntil(isWhole(workers)), longestSeconds)
        assert.strictEqual(second.count(), shardCount)
      }))

    for (const wire of ["lost", "deaf", "late"] as const) {
      test(`a worker whose calls are ${wire} releases before another takes, and gets its share back`, (workers) =>
        Effect.gen(function* () {
          const [first, second] = [yield* workers.start("1"), yield* workers.start("2")]
          yield* workers.pass(10)
          const used = yield* Deferred.make<void>()
          const id = numbers[first.has()[0] ?? 0] as NumberId
          yield* Effect.forkChild(
            first.ownership
              .whileOwned(id, Effect.never)
              .pipe(Effect.andThen(Deferred.succeed(used, undefined))),
          )
          first.wire = wire
          const alone = yield* workers.passUntil(() => first.count() === 0, 10)
          assert.isTrue(Deferred.isDoneUnsafe(used), "what used the number goes on")
          // Its calls still arrive, so the other one does not find it dead.
          if (wire !== "deaf") {
            const more = yield* workers.passUntil(() => second.count() === shardCount)
            assert.isAtMost(alone + more, longestSeconds)
          }
          yield* workers.pass(30)
          first.wire = "well"
          yield* workers.passUntil(() => first.count() === shardCount / 2 && isWhole(workers)(), 15)
        }))
    }

    test("a worker that was frozen for a minute has nothing when it wakes, and then its share", (workers) =>
      Effect.gen(function* () {
        const [first, second] = [yield* workers.start("1"), yield* workers.start("2")]
        yield* workers.pass(10)
        yield* first.freeze
        assert.isAtMost(yield* workers.passUntil(isWhole(workers)), longestSeconds)
        yield* workers.pass(50)
        assert.strictEqual(second.count(), shardCount)
        yield* first.thaw
        assert.strictEqual(first.count(), 0)
        yield* workers.passUntil(() => first.count() === shardCount / 2 && isWhole(workers)(), 15)
      }))

    test("a worker that was frozen ends no other for the time that it slept", (workers) =>
      Effect.gen(function* () {
        const all = yield* Effect.forEach(["1", "2"], (one) => workers.start(one))
        yield* workers.pass(10)
        const before = workers.holders()
        for (const worker of all) yield* worker.freeze
        yield* workers.pass(60)
        for (const worker of all) yield* worker.thaw
        yield* workers.passUntil(isWhole(workers), 10)
        assert.strictEqual(moved(before, workers.holders()), 0)
      }))

    test("when the store was away for all, all keep their shards", (workers) =>
      Effect.gen(function* () {
        const all = yield* Effect.forEach(["1", "2", "3"], (one) => workers.start(one))
        yield* workers.pass(15)
        const before = workers.holders()
        for (const worker of all) worker.wire = "lost"
        yield* workers.pass(60)
        assert.isTrue(workers.holders().every((owner) => owner === null))
        for (const worker of all) worker.wire = "well"
        yield* workers.passUntil(isWhole(workers), 5)
        yield* workers.pass(20)
        assert.strictEqual(moved(before, workers.holders()), 0)
      }))

    test("a shard is released once nothing uses its numbers", (workers) =>
      Effect.gen(function* () {
        const first = yield* workers.start("1")
        const closed = Latch.makeUnsafe(false)
        let using = 0
        for (const id of numbers) {
          const use = Effect.never.pipe(
            Effect.ensuring(
              Effect.andThen(
                closed.await,
                Effect.sync(() => {
                  using--
                }),
              ),
            ),
          )
          using++
          yield* Effect.forkChild(first.ownership.whileOwned(id, use))
        }
        const second = yield* workers.start("2")
        yield* workers.pass(20)
        assert.strictEqual(second.count(), 0)
        assert.strictEqual(using, shardCount)
        yield* closed.open
        yield* workers.passUntil(() => second.count() === shardCount / 2 && isWhole(workers)(), 10)
        assert.strictEqual(using, shardCount / 2)
      }))

    test("users of a number write until they end, and not afterwards", (workers) =>
      Effect.gen(function* () {
        const first = yield* workers.start("1")
        const id = numbers[0] as NumberId
        const closed = Latch.makeUnsafe(false)
        const { fence, finishes, owns, whileOwned } = first.ownership
        const term = yield* fence(id)
        const last = yield* Deferred.make<unknown>()
        const use = Effect.never.pipe(
          Effect.ensuring(
            Effect.andThen(
              closed.await,
              Effect.andThen(Effect.exit(fence(id)), (exit) => Deferred.succeed(last, exit)),
            ),
          ),
        )
        yield* Effect.forkChild(whileOwned(id, use))
        yield* first.stop
        assert.deepStrictEqual([owns(id), finishes(id)], [false, true])
        yield* closed.open
        assert.deepStrictEqual(yield* Deferred.await(last), Exit.succeed(term))
        yield* workers.pass(1)
        assert.isFalse(finishes(id))
        assert.strictEqual((yield* Effect.flip(fence(id)))._tag, "NumberMoved")
      }))

    test("a late release does not lose the shard", () =>
      Effect.gen(function* () {
        const leases = (yield* Store).sessions
        const id = yield* leases.addWorker("one", 10)
        const shards = (yield* leases.beat(id))?.shards ?? []
        assert.strictEqual(shards.length, shardCount)
        const [before] = yield* leases.takeShards(id, [5 as never])
        yield* leases.releaseShards(id, before === undefined ? [] : [before])
        const [after] = yield* leases.takeShards(id, [5 as never])
        yield* leases.releaseShards(id, before === undefined ? [] : [before])
        const state = (yield* leases.beat(id))?.shards[5]
        assert.deepStrictEqual([state?.workerId, state?.term], [id, after?.term])
        assert.deepStrictEqual(yield* leases.takeShards(id, [5 as never]), [])
      }))

    test("only a worker that saw its latest heartbeat ends another, which then takes nothing", () =>
      Effect.gen(function* () {
        const leases = (yield* Store).sessions
        const [one, other] = [
          yield* leases.addWorker("one", 10),
          yield* leases.addWorker("other", 10),
        ]
        yield* leases.takeShards(one, [1 as never, 2 as never])
        const liveWorker = (yield* leases.beat(other))?.workers.find(({ id }) => id === one)
        assert.isDefined(liveWorker)
        if (liveWorker === undefined) return
        yield* leases.beat(one)
        yield* leases.endWorkers([liveWorker])
        const later = (yield* leases.beat(other))?.workers.find(({ id }) => id === one)
        assert.strictEqual(later?.beat, liveWorker.beat + 1)
        assert.strictEqual(yield* leases.findOwner(1 as never), "one")
        assert.strictEqual((yield* leases.holders).get(1 as never), "one")
        yield* leases.endWorkers([{ ...liveWorker, beat: liveWorker.beat + 1 }])
        assert.isNull(yield* leases.beat(one))
        assert.isNull(yield* leases.findOwner(1 as never))
        assert.isFalse((yield* leases.holders).has(1 as never))
        assert.deepStrictEqual(yield* leases.takeShards(one, [3 as never]), [])
        assert.strictEqual((yield* leases.takeShards(other, [1 as never, 2 as never])).length, 2)
      }))

    test("a worker takes no more numbers than it may, and another takes the rest", (workers) =>
      Effect.gen(function* () {
        const all = yield* Effect.replicateEffect(aLinkedNumber, 40)
        const first = yield* workers.start("first", 10)
        yield* workers.pass(10)
        assert.strictEqual(getNumbers(first, all), 10)
        assert.strictEqual(yield* first.ownership.room, 0)
        const second = yield* workers.start("second", 25)
        yield* workers.pass(15)
        assert.deepStrictEqual([getNumbers(first, all), getNumbers(second, all)], [10, 25])
        yield* workers.start("third")
        yield* workers.passUntil(isWhole(workers), 15)
        assert.isAtMost(getNumbers(first, all), 10)
        assert.isAtMost(getNumbers(second, all), 25)
      }))

    test("every worker has some of few numbers", (workers) =>
      Effect.gen(function* () {
        const all = yield* Effect.replicateEffect(aLinkedNumber, 6)
        const three = [yield* workers.start("1"), yield* workers.start("2")]
        yield* workers.pass(10)
        three.push(yield* workers.start("3"))
        yield* workers.pass(10)
        for (const worker of three) assert.isAtLeast(getNumbers(worker, all), 1)
      }))

    test("a number beyond its worker's limit moves to one with room, and else stays", (workers) =>
      Effect.gen(function* () {
        const all = [...(yield* Effect.replicateEffect(aLinkedNumber, 3))]
        const first = yield* workers.start("first", 3)
        yield* workers.pass(3)
        assert.strictEqual(getNumbers(first, all), 3)
        all.push(yield* aLinkedNumber)
        yield* workers.pass(3)
        assert.strictEqual(getNumbers(first, all), 4)
        assert.strictEqual(yield* first.ownership.room, -1)
        const second = yield* workers.start("second", 3)
        yield* workers.pass(15)
        assert.isTrue(isWhole(workers)())
        assert.isAtMost(getNumbers(first, all), 3)
        assert.isAtMost(getNumbers(second, all), 3)
      }))

    test("a number counts while it has a session", () =>
      Effect.gen(function* () {
        const leases = (yield* Store).sessions
        const id = yield* leases.addWorker("one", 10)
        const sums = Effect.map(leases.beat(id), (table) => [
          (table?.shards ?? []).reduce((sum, { linked }) => sum + linked, 0),
          (table?.shards ?? []).reduce((sum, { linking }) => sum + linking, 0),
        ])
        const number = yield* aLinkedNumber
        assert.deepStrictEqual(yield* sums, [1, 0])
        yield* (yield* Store).sessions.wipe(number, null)
        assert.deepStrictEqual(yield* sums, [0, 0])
      }))

    it.effect(
      "no number ever has two workers, and in the end all have one, whatever happens",
      () =>
        Effect.forEach(
          Array.from({ length: histories }, (_, seed) => seed),
          (seed) =>
            Effect.gen(function* () {
              const workers = yield* makeWorkers
              let alive: Array<TestWorker> = [yield* workers.start("0")]
              const frozen = new Set<TestWorker>()
              for (let event = 1; event <= 25; event++) {
                const below = (bound: number) => Random.nextIntBetween(0, bound, { halfOpen: true })
                const one = alive[yield* below(Math.max(1, alive.length))]
                const choice = yield* below(8)
                if (one === undefined || (choice === 0 && alive.length < 6)) {
                  alive.push(yield* workers.start(String(event)))
                } else if (choice === 1) {
                  yield* frozen.has(one) ? one.kill : one.stop
                  alive = alive.filter((each) => each !== one)
                } else if (choice === 2) {
                  yield* one.kill
                  alive = alive.filter((each) => each !== one)
                } else if (choice === 3) {
                  one.wire = (["lost", "deaf", "late"] as const)[yield* below(3)] ?? "lost"
                } else if (choice === 4) {
                  one.wire = "well"
                } else if (choice === 5) {
                  frozen.add(one)
                  yield* one.freeze
                } else {
                  frozen.delete(one)
                  yield* one.thaw
                }
                yield* workers.pass(1 + (yield* below(12)))
              }
              for (const one of alive) {
                one.wire = "well"
                yield* one.thaw
              }
              if (alive.length === 0) yield* workers.start("last")
              yield* workers.passUntil(isWhole(workers), 40)
            }).pipe(
              Effect.scoped,
              Effect.provide(Layer.fresh(stores)),
              Random.withSeed(`ownership ${seed}`),
            ),
          { discard: true },
        ),
      60_000,
    )
  })
}
