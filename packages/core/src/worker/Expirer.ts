/** The expiry sweep: messages whose `expires_at` came before they were sent become `expired`. */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../id/Ids.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { endMessage } from "../message/MessageChange.ts"
import { MessageStore } from "../message/MessageStore.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import { runLoop } from "./Loop.ts"

/** Messages that one commit expires at most. */
const batch = 500

export class Expirer extends Context.Service<
  Expirer,
  {
    /** Expires one batch; returns how many. */
    readonly runOnce: Effect.Effect<number, StoreUnavailable>
    readonly run: Effect.Effect<never>
  }
>()("core/Expirer") {
  static readonly layer = Layer.effect(
    Expirer,
    Effect.gen(function* () {
      const store = yield* MessageStore
      const ids = yield* Ids
      const { link } = yield* MediaLinks
      const context = yield* Effect.context<WakeUp | WorkStatus>()
      const runOnce = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const messages = yield* store.expired(now, batch)
        const changes = messages.flatMap(
          (message) => endMessage(message, { trigger: "expire" }, eventId(ids), now, link) ?? [],
        )
        return changes.length === 0 ? 0 : (yield* store.end(changes)).size
      })
      return Expirer.of({
        runOnce,
        run: runLoop({
          work: "expiry",
          runOnce: Effect.map(runOnce, (expired) => expired > 0),
        }).pipe(Effect.provideContext(context)),
      })
    }),
  )
}
