/** Telling who wants to know that a commit of this process has queued deliveries. */
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"

export class DeliveriesQueued extends Context.Service<
  DeliveriesQueued,
  {
    /** After the commit. */
    readonly tell: Effect.Effect<void>
    whenQueued(tell: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope>
  }
>()("store-postgres/DeliveriesQueued") {
  static readonly layer = Layer.sync(DeliveriesQueued, () => {
    const listeners = new Set<Effect.Effect<void>>()
    return DeliveriesQueued.of({
      tell: Effect.suspend(() => Effect.all(listeners, { discard: true })),
      whenQueued: (tell) =>
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(tell)),
          () => Effect.sync(() => listeners.delete(tell)),
        ),
    })
  })
}
