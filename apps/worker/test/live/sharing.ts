/**
 * Live numbers that several workers share on one PostgreSQL (docs/live.md, "Several processes"): a worker
 * that stops, dies, freezes or loses its database is replaced in time, and no number ever has two senders.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Fiber, Layer } from "effect"
import type { RemoteServer, LiveNumber } from "./remoteServers.ts"
import { figure } from "./figure.ts"
import { startLiveWorkers } from "./LiveWorkers.ts"

type LiveWorkers = Effect.Success<typeof startLiveWorkers>

const linked = (live: LiveWorkers, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    live.aNumber,
    { concurrency: 4 },
  )

/** Waits until all of them have one open connection each. */
const untilOpen = (live: LiveWorkers, numbers: ReadonlyArray<LiveNumber>) =>
  processes.waitUntil(
    "all numbers are connected",
    Effect.sync(() =>
      numbers.every((number) => live.connections(number).open === 1) ? true : undefined,
    ),
  )

const getLogins = (live: LiveWorkers, numbers: ReadonlyArray<LiveNumber>) => {
  const before = new Map(numbers.map((number) => [number, live.connections(number).logins]))
  return (number: LiveNumber) => before.get(number) ?? 0
}

/** How many of the numbers it has. */
const held = (worker: processes.ServiceProcess) => figure(worker, "numbers_held")

/** Waits for at least so many. */
const untilOwned = (worker: processes.ServiceProcess, count: number) =>
  processes.waitUntil(
    `a worker has ${count} numbers`,
    Effect.map(held(worker), (now) => (now >= count ? true : undefined)),
  )

/** Sends one message from each, and waits until the recipient has them. */
const sendFromAll = (live: LiveWorkers, numbers: ReadonlyArray<LiveNumber>, text: string) =>
  Effect.gen(function* () {
    for (const number of numbers) {
      assert.strictEqual((yield* live.send(number, `${text} ${number.id}`)).status, 202)
    }
    yield* processes.waitUntil(
      "all have arrived",
      Effect.sync(() => {
        const visible = new Set(live.remote.displayed())
        return numbers.every(({ id }) => visible.has(`${text} ${id}`)) ? true : undefined
      }),
    )
  })

/** Every text was shown once, and no other text was. */
const assertShown = (
  live: LiveWorkers,
  numbers: ReadonlyArray<LiveNumber>,
  texts: ReadonlyArray<string>,
) => {
  const expected = texts.flatMap((text) => numbers.map(({ id }) => `${text} ${id}`))
  assert.deepStrictEqual(live.remote.displayed().toSorted(), expected.toSorted())
  assert.deepStrictEqual(live.remote.complaints(), [])
}

/** Never, not even briefly, did a number have two connections. */
const assertOneAtATime = (live: LiveWorkers, numbers: ReadonlyArray<LiveNumber>) =>
  assert.deepStrictEqual([...new Set(numbers.map((number) => live.connections(number).max))], [1])

const metrics = { METRICS_PORT: "0" }

/** The tests, on that remote server. */
export const sharesNumbers = (name: string, layerRemoteServer: Layer.Layer<RemoteServer>): void => {
  const services = Layer.fresh(Layer.merge(EmbeddedPostgres.layer(), layerRemoteServer))

  layer(Layer.empty, { concurrent: true })(`several workers with ${name}`, (it) => {
    it.effect(
      "share them, and hand over when one joins, stops or dies, and by rolling restarts",
      () =>
        Effect.gen(function* () {
          const live = yield* startLiveWorkers
          let first = yield* live.startWorker(metrics)
          const numbers = yield* linked(live, 6)
          yield* untilOwned(first, 6)

          let second = yield* live.startWorker(metrics)
          yield* untilOwned(second, 3)
          yield* untilOpen(live, numbers)
          // No more moved. A number that connects again where it was has not.
          assert.isAtMost(yield* held(second), 3)
          yield* sendFromAll(live, numbers, "two workers")

          // New processes replace them one after the other, while messages are sent.
          let third = yield* live.startWorker(metrics)
          yield* untilOwned(third, 1)
          const texts = ["two workers"]
          for (const path of ["first", "second", "third"] as const) {
            const text = `while the ${path} restarts`
            texts.push(text)
            const sending = yield* Effect.forkChild(sendFromAll(live, numbers, text))
            const leaving = { first, second, third }[path]
            const ended = yield* leaving.stop
            assert.strictEqual(ended.code, 0)
            yield* untilOpen(live, numbers)
            const next = yield* live.startWorker(metrics)
            if (path === "first") first = next
            else if (path === "second") second = next
            else third = next
            yield* Fiber.join(sending)
          }

          yield* untilOwned(third, 1)
          yield* untilOpen(live, numbers)
          const before = getLogins(live, numbers)
          const had = yield* held(third)
          yield* third.kill
          yield* processes.waitUntil(
            "the others have connected what it had",
            Effect.sync(() =>
              numbers.filter((number) => live.connections(number).logins > before(number)).length >=
                had && numbers.every((number) => live.connections(number).open === 1)
                ? true
                : undefined,
            ),
          )
          yield* sendFromAll(live, numbers, "after a kill")
          assertShown(live, numbers, [...texts, "after a kill"])
          assertOneAtATime(live, numbers)
        }).pipe(Effect.provide(services)),
    )

    it.effect("a worker that froze, and one that lost its database, do no harm", () =>
      Effect.gen(function* () {
        const live = yield* startLiveWorkers
        const frozen = yield* live.startWorker(metrics)
        const { wire, worker: cut } = yield* live.startCuttableWorker(metrics)
        // Linking restarts at the number's new worker.
        yield* processes.waitUntil(
          "both have a share",
          Effect.map(figure(cut, "shards_held"), (shards) => (shards === 128 ? true : undefined)),
        )
        const numbers = yield* linked(live, 6)
        yield* untilOwned(frozen, 3)
        yield* untilOwned(cut, 3)
        yield* untilOpen(live, numbers)
        yield* sendFromAll(live, numbers, "before")
        const healthy = yield* live.startWorker(metrics)
        yield* untilOwned(healthy, 1)
        yield* untilOpen(live, numbers)

        // It loses its database: it has closed its connections before another opens one.
        wire.isCut = true
        yield* processes.waitUntil(
          "the others have what it had",
          Effect.zipWith(held(frozen), held(healthy), (a, b) => (a + b === 6 ? true : undefined)),
        )
        yield* untilOpen(live, numbers)
        assertOneAtATime(live, numbers)
        yield* sendFromAll(live, numbers, "without one")

        // It sleeps for longer than its leases last.
        yield* frozen.freeze
        yield* untilOwned(healthy, 6)
        wire.isCut = false
        yield* sendFromAll(live, numbers, "without two")
        yield* frozen.thaw
        yield* processes.waitUntil(
          "all three have a share",
          Effect.map(
            Effect.forEach([frozen, cut, healthy], (worker) => figure(worker, "shards_held")),
            (shares) => (shares.every((shards) => shards >= 85) ? true : undefined),
          ),
        )
        yield* untilOpen(live, numbers)
        yield* sendFromAll(live, numbers, "after")
        assertShown(live, numbers, ["before", "without one", "without two", "after"])
        // The awakened one sends nothing more over connections that others have by then.
        assert.deepStrictEqual(
          numbers.filter((number) => live.connections(number).mixed > 0),
          [],
        )
        assert.isTrue((yield* cut.stop).code === 0)
      }).pipe(Effect.provide(services)),
    )
  })
}
