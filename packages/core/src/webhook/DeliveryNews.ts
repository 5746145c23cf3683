/**
 * Wakes the delivery loop when a commit of this process has queued deliveries. It runs beside the
 * services and not in the loop, because a process without a worker makes events too.
 */
import { Effect, Layer } from "effect"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"

export const layerDeliveryNews = Layer.effectDiscard(
  Effect.gen(function* () {
    const queue = yield* DeliveryQueue
    const wakeUp = yield* WakeUp
    yield* Effect.forkScoped(
      Effect.forever(Effect.andThen(queue.queued, wakeUp.wake("deliveries"))),
    )
  }),
)
