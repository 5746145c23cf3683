/** Number ownership among workers, on a scripted store. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { heard } from "../Heard.ts"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import { NumberOwnership } from "../../src/service/NumberOwnership.ts"
import { shardCount } from "../../src/model/Shards.ts"
import type { LiveWorker, Shard, ShardTable, WorkerId } from "../../src/model/Shards.ts"
import { toId, one } from "./aLiveWorld.ts"
import { interruptEverywhere, storeWith } from "@messaging-service/testkit"
import type { StoreParts } from "@messaging-service/testkit"

const me = 1 as WorkerId

/** A store's answer to a poll: those workers, and all shards this worker's. */
const allMine = (workers: ReadonlyArray<LiveWorker>): Effect.Effect<ShardTable> =>
  Effect.succeed({
    workers,
    shards: Array.from({ length: shardCount }, () => ({
      workerId: me,
      term: 1,
      linked: 0,
      linking: 0,
    })),
  })

/** What this worker owns, over a store with these answers. */
const ownershipOver = (sessions: StoreParts["sessions"]) =>
  Effect.provide(NumberOwnership, [
    NumberOwnership.layerShared(1000).pipe(
      Layer.provide(
        storeWith({
          sessions: {
            addWorker: () => Effect.succeed(me),
            removeWorker: () => Effect.void,
            ...sessions,
          },
        }),
      ),
    ),
  ])

/** So many polls in a moment would never end. */
const tooMany = 1000

it.effect("retries a free shard that it cannot take a few times a second, no more", () =>
  Effect.gen(function* () {
    let checks = 0
    let isLocked = true
    const owned = new Map<number, number>()
    const locked = toId(2) % shardCount
    const ownership = yield* ownershipOver({
      beat: () =>
        Effect.suspend(() => {
          if (++checks > tooMany) return Effect.never
          const shards = Array.from({ length: shardCount }, (_, shard) => ({
            workerId: owned.has(shard) ? me : null,
            term: owned.get(shard) ?? 0,
            linked: 0,
            linking: 0,
          }))
          return Effect.succeed({ workers: [{ id: me, most: 1000, beat: checks }], shards })
        }),
      takeShards: (_, shards) =>
        Effect.sync(() => {
          const free = shards.filter((shard) => !isLocked || shard !== locked)
          for (const shard of free) owned.set(shard, 1)
          return free.map((shard: Shard) => ({ shard, term: 1 }))
        }),
    })
    yield* Effect.forkScoped(ownership.run)
    // Polls without a pause could reach that number.
    yield* Effect.repeat(Effect.yieldNow, { times: 20_000 })
    yield* TestClock.adjust("1 second")
    assert.isAtMost(checks, 12)
    assert.isTrue(ownership.owns(one))
    assert.isFalse(ownership.owns(toId(2)))
    isLocked = false
    yield* TestClock.adjust("1 second")
    assert.isTrue(ownership.owns(toId(2)))
  }),
)

it.effect("logs a worker's share of numbers when it changes, and only then", () => {
  const lines: Array<string> = []
  return heard(
    lines,
    Effect.gen(function* () {
      let others: ReadonlyArray<LiveWorker> = []
      const ownership = yield* ownershipOver({
        beat: () => allMine([{ id: me, most: 1000, beat: 1 }, ...others]),
        releaseShards: () => Effect.void,
      })
      yield* Effect.forkScoped(ownership.run)
      yield* TestClock.adjust("1 minute")
      const share = "Info this worker's share of numbers"
      assert.deepStrictEqual(lines, [`${share} shards=${shardCount} numbers=0 workers=1`])
      others = [{ id: 2 as WorkerId, most: 1000, beat: 1 }]
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(lines[1], `${share} shards=${shardCount / 2} numbers=0 workers=2`)
    }),
  )
})

it.effect("a poll of shards that fails or is interrupted ends no worker", () =>
  Effect.gen(function* () {
    let answer: Effect.Effect<never> | null = null
    const ownership = yield* ownershipOver({
      beat: () => answer ?? allMine([{ id: me, most: 1000, beat: 1 }]),
    })
    const running = yield* Effect.forkScoped(ownership.run)
    yield* TestClock.adjust("1 second")
    assert.isTrue(ownership.owns(one))
    for (const breaking of [Effect.die(new Error("a bug")), Effect.interrupt]) {
      answer = breaking
      yield* TestClock.adjust("10 seconds")
      assert.isFalse(ownership.owns(one))
      answer = null
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(ownership.owns(one))
    }
    yield* Fiber.interrupt(running)
    assert.isFalse(ownership.owns(one))
  }),
)

it.effect("asks an absent store every second and a half, also after watching others", () =>
  Effect.gen(function* () {
    let checks = 0
    let isUnavailable = false
    const ownership = yield* ownershipOver({
      beat: () =>
        Effect.suspend(() => {
          checks++
          if (isUnavailable) {
            return Effect.fail(new StoreUnavailable({ operation: "beat", cause: "away" }))
          }
          return allMine([
            { id: me, most: 1000, beat: checks },
            { id: 2 as WorkerId, most: 0, beat: checks },
          ])
        }),
    })
    yield* Effect.forkScoped(ownership.run)
    yield* TestClock.adjust("3 seconds")
    isUnavailable = true
    checks = 0
    yield* TestClock.adjust("60 seconds")
    assert.isAtLeast(checks, 30)
    assert.isAtMost(checks, 42)
  }),
)

it.effect("a worker that stops gives up all shards, and restarts as a new worker", () =>
  Effect.gen(function* () {
    const joined: Array<WorkerId> = []
    const left: Array<WorkerId> = []
    const owned = new Map<Shard, WorkerId>()
    const ownership = yield* ownershipOver({
      addWorker: () =>
        Effect.sync(() => {
          const id = (joined.length + 1) as WorkerId
          joined.push(id)
          return id
        }),
      beat: (id) =>
        Effect.sync(() => ({
          workers: [{ id, most: 1000, beat: 1 }],
          shards: Array.from({ length: shardCount }, (_, shard) => ({
            workerId: owned.get(shard as Shard) ?? null,
            term: joined.length,
            linked: 0,
            linking: 0,
          })),
        })),
      takeShards: (id, shards) =>
        Effect.sync(() => {
          for (const shard of shards) owned.set(shard, id)
          return shards.map((shard) => ({ shard, term: joined.length }))
        }),
      removeWorker: (id) =>
        Effect.sync(() => {
          left.push(id)
          owned.clear()
        }),
    })
    for (const time of [1, 2, 3]) {
      const running = yield* Effect.forkScoped(ownership.run)
      yield* TestClock.adjust("1 second")
      assert.isTrue(ownership.owns(one))
      assert.lengthOf(joined, time)
      yield* Fiber.interrupt(running)
      assert.isFalse(ownership.owns(one))
      assert.deepStrictEqual(left, joined)
      assert.strictEqual(owned.size, 0)
    }
  }),
)

it.effect("work that is interrupted anywhere leaves no use behind that keeps a shard", () =>
  Effect.gen(function* () {
    let isRemoved = false
    const ownership = yield* ownershipOver({
      beat: () => allMine([{ id: me, most: 1000, beat: 1 }]),
      removeWorker: () => Effect.sync(() => void (isRemoved = true)),
    })
    const running = yield* Effect.forkScoped(ownership.run)
    yield* TestClock.adjust("1 second")
    yield* interruptEverywhere(ownership.whileOwned(one, Effect.yieldNow), () =>
      Effect.sync(() => assert.isTrue(ownership.owns(one))),
    )
    yield* Effect.forkChild(Fiber.interrupt(running))
    yield* TestClock.adjust("10 seconds")
    assert.isTrue(isRemoved)
  }),
)
