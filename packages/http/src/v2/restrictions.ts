/** What WhatsApp lets numbers do with new chats (contract: Restrictions). */
import { capWarnings, described, restrictionStates } from "@messaging-service/core"
import { Schema } from "effect"
import { IdJson, TimeText } from "../Entry.ts"

/** Restrictions as the core's `restrictionsJson` shows them, in answers as in events. */
export const RestrictionsJson = Schema.Struct({
  number_id: IdJson,
  state: described(
    Schema.Literals(restrictionStates),
    "`new_chats_closed`: people who never wrote to the number cannot be written to. `unknown`: not asked yet, not connected, or refused; always for Telegram.",
  ),
  until: described(Schema.NullOr(TimeText), "End of `new_chats_closed`; null when unknown."),
  reason: described(Schema.NullOr(Schema.String), "WhatsApp's name of the reason; null for none."),
  new_chats: described(
    Schema.NullOr(
      Schema.Struct({
        limit: described(Schema.NullOr(Schema.Int), "Null without a cap."),
        used: Schema.Int,
        resets_at: described(
          Schema.NullOr(TimeText),
          "When `used` starts again; null when unknown.",
        ),
        warning: Schema.Literals(capWarnings),
      }),
    ),
    "How many new chats the number may open; null when unknown.",
  ),
  checked_at: described(
    Schema.NullOr(TimeText),
    "When WhatsApp was last asked or told of it; null for never.",
  ),
}).annotate({ identifier: "Restrictions" })
