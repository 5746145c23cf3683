/**
 * The delivery loop: claims what is due for webhook endpoints, makes the calls side by side, and
 * settles them in batches. A delivery is held by a lease; when the process dies, or cannot record
 * what it did, the lease runs out and the attempt is made again: at least once.
 */
import { Clock, Context, Effect, FiberSet, Latch, Layer, Queue, Schedule } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import type { ClaimedDelivery, DeliveryResult } from "../queue/DeliveryQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { sleep } from "../time/RealTime.ts"
import { WebhookCall } from "../webhook/WebhookCall.ts"
import { runLoop } from "./Loop.ts"

/** How long a delivery stays claimed, in service time: what a call may take, and some to record it. */
export const deliveryLeaseMillis = 20_000

/** Calls at once to one endpoint (decisions: Webhooks). */
export const callsPerEndpoint = 5

/** Deliveries that one claim takes: of many endpoints several each, which costs little more than one. */
const batch = 256

/**
 * Calls at once of one worker, all endpoints together: so many that hundreds of endpoints which do
 * not answer leave room for those that do.
 */
const maximumCalls = 1000

/** How long a stopping worker waits for calls under way, in real time. */
const drainMillis = 8000

/** Settling is tried again until the store answers; the lease decides whether it still counts. */
const retrySettling = Schedule.spaced("250 millis")

export class Deliverer extends Context.Service<
  Deliverer,
  {
    /**
     * Claims what is due, makes the calls and settles them; returns how many. For embedders that
     * drive the service themselves, and for tests.
     */
    readonly runOnce: Effect.Effect<number, StoreUnavailable>
    /**
     * The loop. When interrupted it claims nothing more, lets the calls under way end, 8 s at most,
     * and settles them.
     */
    readonly run: Effect.Effect<never>
  }
>()("core/Deliverer") {
  static readonly layer = Layer.effect(
    Deliverer,
    Effect.gen(function* () {
      const queue = yield* DeliveryQueue
      const webhookCall = yield* WebhookCall
      const wakeUp = yield* WakeUp
      const context = yield* Effect.context<WakeUp | WorkStatus>()

      const claim = (limit: number) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          return yield* queue.claim({
            now,
            leaseUntil: now + deliveryLeaseMillis,
            limit,
            perEndpoint: callsPerEndpoint,
          })
        })

      const runOnce = Effect.gen(function* () {
        const claimed = yield* claim(batch)
        if (claimed.length === 0) return 0
        yield* queue.settle(
          yield* Effect.forEach(claimed, webhookCall.make, { concurrency: "unbounded" }),
        )
        return claimed.length
      })

      const run = Effect.scoped(
        Effect.gen(function* () {
          let underWay = 0
          const idle = yield* Latch.make(true)
          const results = yield* Queue.unbounded<DeliveryResult>()
          const fibers = yield* FiberSet.make<void>()

          const start = (claimed: ClaimedDelivery) =>
            FiberSet.run(
              fibers,
              Effect.flatMap(webhookCall.make(claimed), (result) =>
                Queue.offer(results, result),
              ).pipe(Effect.asVoid),
            )

          const claimMore = Effect.gen(function* () {
            const room = Math.min(batch, maximumCalls - underWay)
            if (room <= 0) return false
            const claimed = yield* claim(room)
            if (claimed.length === 0) return false
            underWay += claimed.length
            yield* Latch.close(idle)
            yield* Effect.forEach(claimed, start, { discard: true })
            return true
          }).pipe(
            // A claim that is cut off after the store made it would leave deliveries with nobody.
            Effect.uninterruptible,
          )

          // Whatever ended meanwhile is settled together.
          const settleLoop = Effect.gen(function* () {
            const ended = yield* Queue.takeAll(results)
            yield* queue.settle(ended).pipe(
              Effect.tapError((error) => Effect.logWarning("settling is tried again", error)),
              Effect.retry(retrySettling),
            )
            underWay -= ended.length
            if (underWay === 0) yield* Latch.open(idle)
            yield* wakeUp.wake("deliveries")
          }).pipe(Effect.forever)

          // Released in reverse order: calls end or are given up, settling ends.
          yield* Effect.forkScoped(settleLoop)
          yield* Effect.addFinalizer(() => Effect.raceFirst(Latch.await(idle), sleep(drainMillis)))
          return yield* runLoop({ work: "deliveries", runOnce: claimMore })
        }),
      ).pipe(Effect.provideContext(context))

      return Deliverer.of({ runOnce, run })
    }),
  )
}
