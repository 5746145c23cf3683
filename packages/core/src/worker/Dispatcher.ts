/**
 * The dispatch loop: claims the heads of free lanes, makes their attempts side by side, and settles
 * them in batches. A lane is held by a lease that is renewed while its attempt goes on; when the
 * process dies the lease runs out and another worker repeats the attempt with the same id.
 */
import { Clock, Context, Effect, FiberSet, Latch, Layer, Queue, Schedule } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId } from "../id/Ids.ts"
import { crowdedOf, heldBy } from "../limit/Held.ts"
import type { Shares } from "../limit/Held.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { dailyQuota } from "../message/Quota.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import type { ClaimedMessage, Settlement } from "../queue/LaneQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { sleep } from "../time/RealTime.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { Attempt } from "./Attempt.ts"
import { runLoop } from "./Loop.ts"

/** How long a lane stays claimed after its holder died, in service time. */
export const leaseMillis = 30_000

/** A holder renews at a third of the lease, so that two renewals may fail. */
const renewMillis = leaseMillis / 3

/** Lanes that one claim takes. */
const batch = 64

/** Lanes that one worker holds at once: it claims while others are sent from, and others settled. */
const { share, whole: maximumLanes } = sharedResources.lanes

/** How long a stopping worker waits for attempts under way, in real time. */
const drainMillis = 8000

/** Settling is tried again until the store answers; the lease decides whether it still counts. */
const retrySettling = Schedule.spaced("250 millis")

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /**
     * Claims what is due, makes the attempts and settles them; returns how many. For embedders that
     * drive the service themselves, and for tests.
     */
    readonly runOnce: Effect.Effect<number, StoreUnavailable>
    /**
     * The loop. When interrupted it claims nothing more, lets the attempts under way end, 8 s at
     * most, and settles them.
     */
    readonly run: Effect.Effect<never>
  }
>()("core/Dispatcher") {
  static readonly layer = Layer.effect(
    Dispatcher,
    Effect.gen(function* () {
      const lanes = yield* LaneQueue
      const attempt = yield* Attempt
      const ownership = yield* NumberOwnership
      const wakeUp = yield* WakeUp
      const context = yield* Effect.context<WakeUp | WorkStatus>()

      const claim = (limit: number, held: Shares["held"]) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          return yield* lanes.claim({
            now,
            leaseUntil: now + leaseMillis,
            limit,
            owned: yield* ownership.owned,
            sendCap: dailyQuota,
            perWorkspace: share.most,
            held,
          })
        })

      const settle = (settlements: ReadonlyArray<Settlement>) =>
        Effect.gen(function* () {
          yield* lanes.settle(settlements, yield* Clock.currentTimeMillis)
          // What goes on waiting may have expired, or lost its number, while it was in flight.
          if (settlements.some(({ _tag }) => _tag === "Again")) {
            yield* wakeUp.wake("expiry")
            yield* wakeUp.wake("stranded")
          }
        })

      const runOnce = Effect.gen(function* () {
        const claimed = yield* claim(batch, new Map())
        if (claimed.length === 0) return 0
        const settlements = yield* Effect.forEach(claimed, attempt.make, {
          concurrency: "unbounded",
        })
        yield* settle(settlements)
        return claimed.length
      })

      const run = Effect.scoped(
        Effect.gen(function* () {
          /** The lanes this worker holds, by number. */
          const held = new Map<NumberId, ClaimedMessage>()
          const holding = yield* Latch.make(false)
          const idle = yield* Latch.make(true)
          const outcomes = yield* Queue.unbounded<Settlement>()
          const fork = yield* FiberSet.makeRuntime<never, void>()

          const heldOf = () =>
            heldBy(Array.from(held.values(), ({ message }) => message.workspaceId))

          const start = (claimed: ClaimedMessage) => {
            held.set(claimed.number.id, claimed)
            fork(
              Effect.map(attempt.make(claimed), (settlement) => {
                Queue.offerUnsafe(outcomes, settlement)
              }),
            )
          }

          const claimMore = Effect.gen(function* () {
            const room = Math.min(batch, maximumLanes - held.size)
            if (room === 0) return false
            const claimed = yield* claim(room, heldOf())
            if (claimed.length === 0) return false
            yield* Latch.close(idle)
            yield* Latch.open(holding)
            claimed.forEach(start)
            // Fewer than asked for: no other lane is both due and free.
            return claimed.length === room
          }).pipe(
            // A claim that is cut off after the store made it would leave lanes held by nobody.
            Effect.uninterruptible,
          )

          // Whatever ended meanwhile is settled together.
          const settleLoop = Effect.gen(function* () {
            const settlements = yield* Queue.takeAll(outcomes)
            yield* settle(settlements).pipe(
              Effect.tapError((error) =>
                Effect.andThen(
                  Effect.logWarning("settling is tried again", error),
                  // Perhaps only the answer was lost, and the lanes are free.
                  wakeUp.wake("lanes"),
                ),
              ),
              Effect.retry(retrySettling),
            )
            for (const { lease, numberId } of settlements) {
              // Settled, the lane may have been claimed anew before this fiber went on.
              if (held.get(numberId)?.lease === lease) held.delete(numberId)
            }
            if (held.size === 0) yield* Latch.open(idle)
            yield* wakeUp.wake("lanes")
          }).pipe(Effect.forever)

          // Sleeps only while lanes are held, so that an idle worker has no business with the clock.
          const renewLoop = Effect.gen(function* () {
            yield* Latch.await(holding)
            yield* Effect.sleep(renewMillis)
            if (held.size === 0) {
              yield* Latch.close(holding)
              return
            }
            const now = yield* Clock.currentTimeMillis
            yield* lanes.renew(
              [...held.values()].map(({ lease, number }) => ({ lease, numberId: number.id })),
              now + leaseMillis,
            )
          }).pipe(
            Effect.catch((error) => Effect.logWarning("leases could not be renewed", error)),
            Effect.forever,
          )

          // Released in reverse order: renewing ends, attempts end or are given up, settling ends.
          yield* Effect.forkScoped(settleLoop)
          yield* Effect.addFinalizer(() => Effect.raceFirst(Latch.await(idle), sleep(drainMillis)))
          yield* Effect.forkScoped(renewLoop)
          return yield* runLoop({
            work: "lanes",
            runOnce: claimMore,
            crowded: () => crowdedOf(heldOf(), sharedResources.lanes),
          })
        }),
      ).pipe(Effect.provideContext(context))

      return Dispatcher.of({ runOnce, run })
    }),
  )
}
