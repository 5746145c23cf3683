/** A worker's loops beside other processes: what those made without a word is found by looking. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { kindsOfWork, makeLocal, WakeUp, DueWork } from "../../src/queue/DueWork.ts"
import type { Work } from "../../src/queue/DueWork.ts"
import { runLoop, sharedWorkStatus } from "../../src/worker/LeaseLoop.ts"

const pollMillis = 250

const nothing = () =>
  Object.fromEntries(kindsOfWork.map((work) => [work, null])) as Record<Work, number | null>

class SharedStore {
  /** What is due for a loop of this worker. */
  mine = nothing()
  /** What is due for some worker, this one or another. */
  all = nothing()
  looks = 0
  ownLooks = 0
  rounds: Array<Work> = []

  make(work: Work, due: number | null) {
    this.mine[work] = due
    this.all[work] = due
  }
}

/** Begins the loops of one worker on a store that other processes write to. */
const startLoops = (store: SharedStore, loops: ReadonlyArray<Work> = kindsOfWork) =>
  Effect.gen(function* () {
    const status = DueWork.of({
      nextDue: (work) =>
        Effect.sync(() => {
          store.ownLooks++
          return store.mine[work]
        }),
      // Each answer takes a moment.
      earliest: () =>
        Effect.sync(() => {
          store.looks++
          return { ...store.all }
        }).pipe(Effect.delay(1)),
      workload: () => Effect.die("not asked"),
    })
    const run = Effect.forEach(
      loops,
      (work) =>
        Effect.forkScoped(
          runLoop({
            work,
            runOnce: Effect.gen(function* () {
              store.rounds.push(work)
              const due = store.mine[work]
              const isDue = due !== null && due <= (yield* Clock.currentTimeMillis)
              if (isDue) store.make(work, null)
              return isDue
            }),
          }),
        ),
      { discard: true },
    )
    yield* run.pipe(
      Effect.provideServiceEffect(DueWork, sharedWorkStatus),
      Effect.provideService(DueWork, status),
      Effect.provideService(WakeUp, makeLocal(pollMillis)),
    )
  })

/** Its loops have begun some time ago, and found nothing. */
const aWorker = (loops?: ReadonlyArray<Work>) =>
  Effect.gen(function* () {
    const store = new SharedStore()
    yield* startLoops(store, loops)
    yield* TestClock.adjust(2 * pollMillis + 10)
    Object.assign(store, { looks: 0, ownLooks: 0, rounds: [] })
    return store
  })

describe("loops beside other processes", () => {
  it.effect("begin with one look together, and without a round where there is nothing", () =>
    Effect.gen(function* () {
      const store = new SharedStore()
      const now = yield* Clock.currentTimeMillis
      store.make("lanes", now)
      store.make("reminders", now + 5000)
      yield* startLoops(store)
      yield* TestClock.adjust(1)
      assert.strictEqual(store.looks, 1)
      // Then each of these two asks what is next for it.
      assert.deepStrictEqual(store.rounds, ["lanes", "reminders", "lanes"])
      assert.strictEqual(store.ownLooks, 2)
    }),
  )

  it.effect("idle ones share their looks, and ask nothing else", () =>
    Effect.gen(function* () {
      const store = yield* aWorker()
      yield* TestClock.adjust(20 * pollMillis)
      assert.deepStrictEqual([store.ownLooks, store.rounds], [0, []])
      assert.isAtLeast(store.looks, 18)
      assert.isAtMost(store.looks, 20)
    }),
  )

  it.effect("what another process made without a word is worked off soon", () =>
    Effect.gen(function* () {
      const store = yield* aWorker()
      store.make("lanes", yield* Clock.currentTimeMillis)
      yield* TestClock.adjust(2 * pollMillis)
      assert.deepStrictEqual(store.rounds, ["lanes", "lanes"])
      assert.isNull(store.mine.lanes)
    }),
  )

  it.effect("what it made for later is worked off at its moment", () =>
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

  it.effect("what other workers alone could take hides nothing", () =>
    Effect.gen(function* () {
      const store = yield* aWorker(["lanes"])
      store.all.lanes = yield* Clock.currentTimeMillis
      yield* TestClock.adjust(20 * pollMillis)
      assert.deepStrictEqual(store.rounds, [])
      // The number has become this worker's: the earliest moment of all stays what it was.
      store.mine.lanes = store.all.lanes
      yield* TestClock.adjust(2 * pollMillis)
      assert.deepStrictEqual(store.rounds, ["lanes", "lanes"])
    }),
  )
})
