/**
 * What the loops that call receivers of events have in common: they claim what is due, make the calls
 * side by side, and settle them in batches. A call is held by a lease; when the process dies, or
 * cannot record what it did, the lease runs out and the attempt is made again: at least once.
 */
import { Clock, Effect, FiberSet, Latch, Queue, Schedule } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import type { Work } from "../queue/WorkStatus.ts"
import type { WorkspaceId } from "../id/Ids.ts"
import { sleep } from "../time/RealTime.ts"
import { runLoop } from "./Loop.ts"

/** How long a call stays claimed, in service time: what it may take, and some to record it. */
export const deliveryLeaseMillis = 20_000

/**
 * Calls that one claim takes: of a hundred receivers all that each may get, which costs little more
 * than one.
 */
const batch = 512

/** How long a stopping worker waits for calls under way, in real time. */
const drainMillis = 8000

/** Settling is tried again until the store answers; the lease decides whether it still counts. */
const retrySettling = Schedule.spaced("250 millis")

interface ClaimQuery {
  readonly now: number
  readonly leaseUntil: number
  readonly limit: number
}

/** What is particular about a loop. */
interface Calls<
  Claimed extends { readonly workspaceId: WorkspaceId },
  Result extends { readonly nextAttemptAt: number | null },
> {
  readonly work: Work
  /** Calls at once of the loop, of all receivers together and of one workspace's. */
  readonly resource: { readonly whole: number; readonly share: { readonly most: number } }
  claim(query: ClaimQuery): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  make(claimed: Claimed): Effect.Effect<Result>
  settle(results: ReadonlyArray<Result>): Effect.Effect<void, StoreUnavailable>
  /** What a busy loop does: it makes room, and takes what fills it. */
  settleAndClaim(
    results: ReadonlyArray<Result>,
    query: ClaimQuery,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
}

export interface CallLoop {
  /**
   * Claims what is due, makes the calls and settles them; returns how many. For embedders that drive
   * the service themselves, and for tests.
   */
  readonly runOnce: Effect.Effect<number, StoreUnavailable>
  /**
   * The loop. When interrupted it claims nothing more, lets the calls under way end, 8 s at most,
   * and settles them.
   */
  readonly run: Effect.Effect<never>
}

export const makeCallLoop = <
  Claimed extends { readonly workspaceId: WorkspaceId },
  Result extends { readonly nextAttemptAt: number | null },
>(
  calls: Calls<Claimed, Result>,
): Effect.Effect<CallLoop, never, WakeUp | WorkStatus> =>
  Effect.gen(function* () {
    const wakeUp = yield* WakeUp
    const context = yield* Effect.context<WakeUp | WorkStatus>()
    const { share, whole } = calls.resource

    const claimQuery = (limit: number): Effect.Effect<ClaimQuery> =>
      Effect.map(Clock.currentTimeMillis, (now) => ({
        now,
        leaseUntil: now + deliveryLeaseMillis,
        limit,
      }))

    const claim = (limit: number) => Effect.flatMap(claimQuery(limit), calls.claim)

    const runOnce = Effect.gen(function* () {
      const claimed = yield* claim(batch)
      if (claimed.length === 0) return 0
      yield* calls.settle(yield* Effect.forEach(claimed, calls.make, { concurrency: "unbounded" }))
      return claimed.length
    })

    const run = Effect.scoped(
      Effect.gen(function* () {
        let underWay = 0
        let stopping = false
        const idle = yield* Latch.make(true)
        const results = yield* Queue.unbounded<Result>()
        const fork = yield* FiberSet.makeRuntime<never, void>()

        const makingFor = new Map<WorkspaceId, number>()
        const count = (workspaceId: WorkspaceId, more: 1 | -1): void => {
          const making = (makingFor.get(workspaceId) ?? 0) + more
          if (making === 0) makingFor.delete(workspaceId)
          else makingFor.set(workspaceId, making)
        }

        const start = (claimed: Claimed) => {
          const { workspaceId } = claimed
          count(workspaceId, 1)
          fork(
            Effect.map(calls.make(claimed), (result) => {
              count(workspaceId, -1)
              Queue.offerUnsafe(results, result)
            }),
          )
        }

        const startAll = (claimed: ReadonlyArray<Claimed>) => claimed.forEach(start)

        /**
         * Claims keep to the share themselves. What they cannot count are calls of endpoints that
         * were removed meanwhile, which still hang: with those beside it a call above the share is
         * not made, and handed out again when its lease runs out.
         */
        const withinShare = (claimed: ReadonlyArray<Claimed>): ReadonlyArray<Claimed> => {
          const more = new Map<WorkspaceId, number>()
          return claimed.filter(({ workspaceId }) => {
            const place = (more.get(workspaceId) ?? 0) + 1
            more.set(workspaceId, place)
            return (makingFor.get(workspaceId) ?? 0) + place <= share.most
          })
        }

        const claimMore = Effect.gen(function* () {
          const room = Math.min(batch, whole - underWay)
          if (room <= 0) return false
          const claimed = withinShare(yield* claim(room))
          if (claimed.length === 0) return false
          yield* Latch.close(idle)
          underWay += claimed.length
          startAll(claimed)
          return true
        }).pipe(
          // A claim that is cut off after the store made it would leave calls with nobody.
          Effect.uninterruptible,
        )

        // Whatever ended meanwhile is settled together, and its places are taken by what is due.
        const settleLoop = Effect.gen(function* () {
          const ended = yield* Queue.takeAll(results)
          const room = Math.min(batch, whole - underWay + ended.length)
          const claimed = yield* Effect.suspend(() =>
            stopping
              ? Effect.as(calls.settle(ended), [])
              : Effect.flatMap(claimQuery(room), (query) => calls.settleAndClaim(ended, query)),
          ).pipe(
            Effect.tapError((error) => Effect.logWarning("settling is tried again", error)),
            Effect.retry(retrySettling),
            Effect.map(withinShare),
          )
          underWay += claimed.length - ended.length
          const starting = Effect.sync(() => startAll(claimed))
          // Many calls take long to start: what ended meanwhile is on its way to the store before them.
          if (Queue.sizeUnsafe(results) > 0) fork(Effect.andThen(Effect.yieldNow, starting))
          else yield* starting
          if (underWay === 0) yield* Latch.open(idle)
          // While each claim brings something and nothing is put off, the loop has nothing to learn.
          const isSteady =
            claimed.length > 0 &&
            claimed.length < room &&
            ended.every(({ nextAttemptAt }) => nextAttemptAt === null)
          if (!isSteady) yield* wakeUp.wake(calls.work)
        }).pipe(
          // It waits for results each time.
          Effect.forever({ disableYield: true }),
        )

        // Released in reverse order: calls end or are given up, settling ends.
        yield* Effect.forkScoped(settleLoop)
        yield* Effect.addFinalizer(() => {
          stopping = true
          return Effect.raceFirst(Latch.await(idle), sleep(drainMillis))
        })
        return yield* runLoop({ work: calls.work, runOnce: claimMore })
      }),
    ).pipe(Effect.provideContext(context))

    return { runOnce, run }
  })
