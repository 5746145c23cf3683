/**
 * The texts of messages that left, for live transports: a recipient who could not read a message asks
 * for it again, perhaps long after and of another process. A text stands in its message; what became
 * of media is the transport's to keep.
 */
import { Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, TransportId } from "../Ids.ts"
import { MessageStore } from "./MessageStore.ts"

export class SentTexts extends Context.Service<
  SentTexts,
  {
    /** Null where the number has no such message, or one with media. */
    of(numberId: NumberId, transportId: TransportId): Effect.Effect<string | null, StoreUnavailable>
  }
>()("core/SentTexts") {
  static readonly layer = Layer.effect(
    SentTexts,
    Effect.map(MessageStore, (messages) =>
      SentTexts.of({
        of: (numberId, transportId) =>
          Effect.map(messages.byTransportId(numberId, transportId), (message) =>
            message === null || message.media !== null ? null : message.text,
          ),
      }),
    ),
  )
}
