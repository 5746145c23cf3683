/**
 * Wakes the loops that make calls when a commit of this process has queued deliveries or callbacks.
 * It runs beside the services and not in the loops, because a process without a worker makes events
 * too.
 */
import { Effect, Layer } from "effect"
import { CallbackQueue } from "../queue/CallbackQueue.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"

export const layerDeliveryNews = Layer.effectDiscard(
  Effect.gen(function* () {
    const deliveries = yield* DeliveryQueue
    const callbacks = yield* CallbackQueue
    const { wake } = yield* WakeUp
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(deliveries.queued, wake("deliveries"))))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(callbacks.queued, wake("callbacks"))))
  }),
)
