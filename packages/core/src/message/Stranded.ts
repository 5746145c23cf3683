/**
 * Messages that wait for nothing: their number was removed or their workspace deleted. They are
 * cancelled, each with its event (contract: Message status). The removal does it before it answers;
 * the worker finishes what a killed process left.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../id/Ids.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { endMessage } from "./MessageChange.ts"
import { MessageStore } from "./MessageStore.ts"

/** Messages that one commit cancels at most, so that no lock is held for long. */
const batch = 500

export class Stranded extends Context.Service<
  Stranded,
  {
    /** Cancels one batch; returns how many it cancelled. */
    readonly cancelSome: Effect.Effect<number, StoreUnavailable>
    /** Cancels until none is left. */
    readonly cancelAll: Effect.Effect<void, StoreUnavailable>
  }
>()("core/Stranded") {
  static readonly layer = Layer.effect(
    Stranded,
    Effect.gen(function* () {
      const store = yield* MessageStore
      const ids = yield* Ids
      const { link } = yield* MediaLinks
      const cancelSome = Effect.gen(function* () {
        const messages = yield* store.stranded(batch)
        const now = yield* Clock.currentTimeMillis
        const changes = messages.flatMap(
          (message) => endMessage(message, { trigger: "cancel" }, eventId(ids), now, link) ?? [],
        )
        return changes.length === 0 ? 0 : (yield* store.end(changes)).size
      })
      return Stranded.of({
        cancelSome,
        cancelAll: cancelSome.pipe(
          Effect.repeat({ while: (cancelled) => cancelled > 0 }),
          Effect.asVoid,
        ),
      })
    }),
  )
}
