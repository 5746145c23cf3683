/**
 * Several workers that share the numbers of one store, in one process and on one test clock. Each can be
 * stopped, killed, frozen, or cut off from its store; every step checks that no two of them have one number.
 */
import { assert } from "@effect/vitest"
import { NumberOwnership, RealTime, WorkerName, shardCount, Store } from "@messaging-service/core"
import type { ShardLeases, NumberId, StoreUnavailable } from "@messaging-service/core"
import { Context, Effect, Fiber, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"

/** What happens to a call to the store. */
export type Wire =
  | "well"
  /** It does not arrive. */
  | "lost"
  /** It arrives, and the answer does not. */
  | "deaf"
  /** It arrives once the wire works again, when nothing waits for the answer any more. */
  | "late"

export const numbers = Array.from(
  { length: shardCount },
  (_, shard) => (shard === 0 ? shardCount : shard) as NumberId,
)

const stepMillis = 250

/** Lets everything else of the process run, sockets too. */
const tick = Effect.callback<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

export interface TestWorker {
  readonly name: string
  readonly ownership: typeof NumberOwnership.Service
  /** Its shards, as far as it knows; nothing while it is frozen, and once it is gone. */
  readonly has: () => ReadonlyArray<number>
  readonly count: () => number
  wire: Wire
  /** Stops it cleanly. */
  readonly stop: Effect.Effect<void>
  /** Ends it without running another line of it. */
  readonly kill: Effect.Effect<void>
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
}

export interface Workers {
  readonly start: (name: string, max?: number) => Effect.Effect<TestWorker>
  /** Lets time pass, in steps after which no number may have two workers. */
  readonly pass: (seconds: number) => Effect.Effect<void>
  /** Lets time pass until the condition holds; returns the seconds that it took, at most `max`. */
  readonly passUntil: (isSo: () => boolean, max?: number) => Effect.Effect<number>
  /** The name of each shard's worker; null where there is none. */
  readonly holders: () => ReadonlyArray<string | null>
}

export const makeWorkers = Effect.gen(function* () {
  const store = yield* Store
  const leases = store.sessions
  const scope = yield* Effect.scope
  const workers: Array<TestWorker> = []
  let underWay = 0

  const settle = Effect.gen(function* () {
    for (let idleCount = 0; idleCount < 3; idleCount++) {
      yield* tick
      if (underWay > 0) idleCount = -1
    }
  })

  const start = (name: string, max = 1_000_000): Effect.Effect<TestWorker> =>
    Effect.gen(function* () {
      const running = Latch.makeUnsafe(true)
      let isGone = false
      const late: Array<Effect.Effect<unknown, StoreUnavailable>> = []
      let wire: Wire = "well"

      const request = <A>(question: Effect.Effect<A, StoreUnavailable>) =>
        Effect.suspend((): Effect.Effect<A, StoreUnavailable> => {
          const counted = Effect.suspend(() => {
            underWay++
            return Effect.ensuring(
              question,
              Effect.sync(() => {
                underWay--
              }),
            )
          })
          switch (wire) {
            case "well":
              return counted
            case "lost":
              return Effect.never
            case "deaf":
              return Effect.andThen(counted, Effect.never)
            case "late":
              late.push(counted)
              return Effect.never
          }
        }).pipe(Effect.tap(running.await))

      const requested: ShardLeases = {
        addWorker: (...args) => request(leases.addWorker(...args)),
        beat: (...args) => request(leases.beat(...args)),
        endWorkers: (...args) => request(leases.endWorkers(...args)),
        takeShards: (...args) => request(leases.takeShards(...args)),
        releaseShards: (...args) => request(leases.releaseShards(...args)),
        removeWorker: (...args) => request(leases.removeWorker(...args)),
        findOwner: (...args) => request(leases.findOwner(...args)),
        holders: request(leases.holders),
      }

      const realTime = yield* RealTime
      const built = yield* Layer.buildWithScope(
        Layer.fresh(NumberOwnership.layerShared(max)),
        scope,
      ).pipe(
        Effect.provideService(Store, { ...store, sessions: { ...store.sessions, ...requested } }),
        Effect.provideService(WorkerName, name),
        Effect.provideService(RealTime, { ...realTime, sleep: Effect.sleep }),
      )
      const ownership = Context.get(built, NumberOwnership)
      const holding = yield* ownership.run.pipe(
        Effect.provideService(RealTime, {
          ...realTime,
          sleep: (duration) => Effect.andThen(Effect.sleep(duration), running.await),
        }),
        // It runs on the test's clock, which stops once the test is over.
        Effect.forkDetach,
      )
      const worker: TestWorker = {
        name,
        ownership,
        has: () =>
          isGone || !running.isOpen()
            ? []
            : numbers.flatMap((id, shard) => (ownership.owns(id) ? shard : [])),
        count: () => worker.has().length,
        get wire() {
          return wire
        },
        set wire(to: Wire) {
          wire = to
          if (to !== "well") return
          for (const question of late.splice(0)) Effect.runFork(Effect.ignore(question))
        },
        stop: Effect.suspend(() => Effect.forkDetach(Fiber.interrupt(holding))).pipe(
          Effect.andThen(settle),
          Effect.tap(() =>
            Effect.sync(() => {
              isGone = true
            }),
          ),
        ),
        kill: Effect.sync(() => {
          isGone = true
          wire = "lost"
          running.closeUnsafe()
        }),
        freeze: Effect.sync(() => running.closeUnsafe()),
        thaw: Effect.andThen(
          Effect.sync(() => running.openUnsafe()),
          Effect.suspend(() => {
            check()
            return settle
          }),
        ),
      }
      workers.push(worker)
      yield* settle
      return worker
    })

  const holders = () => {
    const of: Array<string | null> = numbers.map(() => null)
    for (const worker of workers) {
      for (const shard of worker.has()) {
        // An assertion for each of them would take more time than the workers.
        if (of[shard] !== null)
          assert.fail(`shard ${shard} has two workers: ${of[shard]}, ${worker.name}`)
        of[shard] = worker.name
      }
    }
    return of
  }

  const check = () => void holders()

  const step = Effect.gen(function* () {
    yield* TestClock.adjust(stepMillis)
    yield* settle
    check()
  })

  const created: Workers = {
    start,
    holders,
    pass: (seconds) =>
      Effect.repeat(step, { times: (seconds * 1000) / stepMillis - 1 }).pipe(Effect.asVoid),
    passUntil: Effect.fnUntraced(function* (isSo, max = 60) {
      let millis = 0
      while (!isSo()) {
        assert.isBelow(millis, max * 1000, "it did not come to that")
        yield* step
        millis += stepMillis
      }
      return millis / 1000
    }),
  }
  return created
})
