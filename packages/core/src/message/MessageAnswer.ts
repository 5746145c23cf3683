/** What a Message looks like in version 2 and its events (contract: Messages). */
import { Schema } from "effect"
import { MediaReferenceJson } from "../media/Media.ts"
import { platforms } from "../number/SendingNumber.ts"
import { RecipientJson } from "../recipient/recipientJson.ts"
import { TimeJson } from "../request/Answer.ts"
import { described } from "../request/Described.ts"
import { messageErrorCodes, messageStatuses } from "./Message.ts"

/** The Message object. */
export const MessageJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("MessageId")),
  status: Schema.Literals(messageStatuses),
  from: Schema.Struct({
    id: Schema.Int.pipe(Schema.brand("NumberId")),
    phone: described(
      Schema.NullOr(Schema.String),
      "Digits with country code, no +: of the number while the message waits, then the phone that it left from. Null while the number was never linked.",
    ),
    platform: Schema.Literals(platforms),
  }),
  to: RecipientJson,
  text: described(Schema.String, "The text, or the caption of the media."),
  media: Schema.NullOr(MediaReferenceJson),
  send_at: Schema.NullOr(TimeJson),
  expires_at: Schema.NullOr(TimeJson),
  created_at: TimeJson,
  sent_at: Schema.NullOr(TimeJson),
  error: described(
    Schema.NullOr(
      Schema.Struct({ code: Schema.Literals(messageErrorCodes), message: Schema.String }),
    ),
    "Why it failed, when `status` is `failed`.",
  ),
}).annotate({ identifier: "Message" })

export type MessageJson = typeof MessageJson.Type
