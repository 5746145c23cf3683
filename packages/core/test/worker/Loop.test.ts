/** Worker loops with other processes on one store: polling finds work that they created without a signal. */
import { assert, describe, it } from "@effect/vitest"
import { storeWith } from "@messaging-service/testkit"
import type { StoreParts } from "@messaging-service/testkit"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { kindsOfWork, makeLocal, WakeUp } from "../../src/store/DueWork.ts"
import type { Work } from "../../src/store/DueWork.ts"
import { Store } from "../../src/store/Store.ts"
import { runLoop, sharedStore } from "../../src/worker/LeaseLoop.ts"

const pollMillis = 250

const nothing = () =>
  Object.fromEntries(kindsOfWork.map((work) => [work, null])) as Record<Work, number | null>

class SharedStore {
  /** What is due for a loop of this worker. */
  mine = nothing()
  /** What is due for some worker, this one or another. */
  all = nothing()
  checks = 0
  ownChecks = 0
  rounds: Array<Work> = []

  make(work: Work, due: number | null) {
    this.mine[work] = due
    this.all[work] = due
  }
}

/** Starts the loops of one worker on a store that other processes write to, each after the one before. */
const startLoops = (
  store: SharedStore,
  loops: ReadonlyArray<Work> = kindsOfWork,
  millisApart = 0,
) =>
  Effect.gen(function* () {
    const queue: NonNullable<StoreParts["queue"]> = {
      nextDue: (work) =>
        Effect.sync(() => {
          store.ownChecks++
          return store.mine[work]
        }),
      // Each answer takes a moment.
      earliestDue: () =>
        Effect.sync(() => {
          store.checks++
          return { ...store.all }
        }).pipe(Effect.delay(1)),
      workload: () => Effect.die("not asked"),
    }
    const run = Effect.forEach(
      loops,
      (work, index) =>
        runLoop({
          work,
          runOnce: Effect.gen(function* () {
            store.rounds.push(work)
            const due = store.mine[work]
            const isDue = due !== null && due <= (yield* Clock.currentTimeMillis)
            if (isDue) store.make(work, null)
            return isDue
          }),
        }).pipe(Effect.delay(index * millisApart), Effect.forkScoped),
      { discard: true },
    )
    yield* run.pipe(
      Effect.provideServiceEffect(Store, sharedStore),
      Effect.provide(storeWith({ queue })),
      Effect.provideService(WakeUp, makeLocal(pollMillis)),
    )
  })

/** Its loops started some time ago, and are idle. */
const aWorker = (loops?: ReadonlyArray<Work>) =>
  Effect.gen(function* () {
    const store = new SharedStore()
    yield* startLoops(store, loops)
    yield* TestClock.adjust(2 * pollMillis + 10)
    Object.assign(store, { checks: 0, ownChecks: 0, rounds: [] })
    return store
  })

describe("loops among other processes", () => {
  it.effect("start with one shared poll, and without a round where nothing is due", () =>
    Effect.gen(function* () {
      const store = new SharedStore()
      const now = yield* Clock.currentTimeMillis
      store.make("lanes", now)
      store.make("reminders", now + 5000)
      yield* startLoops(store)
      yield* TestClock.adjust(1)
      assert.strictEqual(store.checks, 1)
      // Then each of these two asks for its next due time.
      assert.deepStrictEqual(store.rounds, ["lanes", "reminders", "lanes"])
      assert.strictEqual(store.ownChecks, 2)
    }),
  )

  it.effect("soon process what was made between a shared poll and their start", () =>
    Effect.gen(function* () {
      const store = new SharedStore()
      yield* startLoops(store, ["lanes", "reminders"], 90)
      yield* TestClock.adjust(50)
      store.make("reminders", yield* Clock.currentTimeMillis)
      yield* TestClock.adjust(50)
      assert.deepStrictEqual([store.checks, store.rounds], [1, []])
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(store.rounds, ["reminders", "reminders"])
    }),
  )

  it.effect("share their polls when idle, and make no other calls", () =>
    Effect.gen(function* () {
      const store = yield* aWorker()
      yield* TestClock.adjust(20 * pollMillis)
      assert.deepStrictEqual([store.ownChecks, store.rounds], [0, []])
      assert.isAtLeast(store.checks, 18)
      assert.isAtMost(store.checks, 20)
    }),
  )

  it.effect("soon process what another process created without a signal", () =>
    Effect.gen(function* () {
      const store = yield* aWorker()
      store.make("lanes", yield* Clock.currentTimeMillis)
      yield* TestClock.adjust(2 * pollMillis)
      assert.deepStrictEqual(store.rounds, ["lanes", "lanes"])
      assert.isNull(store.mine.lanes)
    }),
  )

  it.effect("process what it created for later at its due time", () =>
    Effect.gen(function* () {
      const store = yield* aWorker()
      const due = (yield* Clock.currentTimeMillis) + 5000
      store.make("reminders", due)
      yield* TestClock.adjust(4999)
      assert.deepStrictEqual(store.rounds, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(store.rounds, ["reminders", "reminders"])
    }),
  )

  it.effect("are not misled by work that only other workers can take", () =>
    Effect.gen(function* () {
      const store = yield* aWorker(["lanes"])
      store.all.lanes = yield* Clock.currentTimeMillis
      yield* TestClock.adjust(20 * pollMillis)
      assert.deepStrictEqual(store.rounds, [])
      // The number is now this worker's: the earliest moment of all did not change.
      store.mine.lanes = store.all.lanes
      yield* TestClock.adjust(2 * pollMillis)
      assert.deepStrictEqual(store.rounds, ["lanes", "lanes"])
    }),
  )
})
