/** Whether a commit of this process has queued callbacks for which no loop was woken yet. */
import type { Callback } from "@messaging-service/core"
import { Context, Effect, Latch, Layer } from "effect"

export class CallbackNews extends Context.Service<
  CallbackNews,
  {
    /** After a commit that may have written some of these. */
    written(callbacks: ReadonlyArray<Callback | null>): Effect.Effect<void>
    /** Returns when something was queued since it last returned. */
    readonly next: Effect.Effect<void>
  }
>()("store-postgres/CallbackNews") {
  static readonly layer = Layer.effect(
    CallbackNews,
    Effect.map(Latch.make(false), (latch) =>
      CallbackNews.of({
        written: (callbacks) =>
          callbacks.some((callback) => callback !== null) ? Effect.asVoid(latch.open) : Effect.void,
        next: Effect.andThen(latch.await, Effect.asVoid(latch.close)),
      }),
    ),
  )
}
