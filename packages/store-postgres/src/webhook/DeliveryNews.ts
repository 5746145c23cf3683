/** Whether a commit of this process has queued deliveries for which no loop was woken yet. */
import { Context, Effect, Latch, Layer } from "effect"

export class DeliveryNews extends Context.Service<
  DeliveryNews,
  {
    readonly queued: Effect.Effect<void>
    /** Returns when something was queued since it last returned. */
    readonly next: Effect.Effect<void>
  }
>()("store-postgres/DeliveryNews") {
  static readonly layer = Layer.effect(
    DeliveryNews,
    Effect.map(Latch.make(false), (latch) =>
      DeliveryNews.of({
        queued: Effect.asVoid(latch.open),
        next: Effect.andThen(latch.await, Effect.asVoid(latch.close)),
      }),
    ),
  )
}
