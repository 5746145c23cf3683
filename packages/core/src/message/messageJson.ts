/** A Message as version 2 and its events show it (contract: Messages). */
import { Schema } from "effect"
import { TimeJson } from "../request/Answer.ts"
import { MediaReferenceJson } from "../media/Media.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import { platforms } from "../number/SendingNumber.ts"
import { RecipientJson, recipientJson } from "../recipient/recipientJson.ts"
import { described } from "../request/Described.ts"
import { formatInstant, instantOrNull } from "../time/Instant.ts"
import { messageErrorCodes, messageStatuses, statusAt } from "./Message.ts"
import type { Message } from "./Message.ts"

/**
 * A stored file shows a link that works for 26 hours; a customer's own link is passed on as it is. An
 * attachment has no id that a request could name.
 */
const mediaJson = (
  { foundMediaType, media }: Pick<Message, "foundMediaType" | "media">,
  now: number,
  link: MediaLink,
) => {
  if (media === null) return null
  const stored = media.mediaId ?? media.attachmentId
  return {
    media_id: media.mediaId,
    url: stored === null ? media.url : link(stored, media.fileName, now),
    type: media.type ?? foundMediaType,
    file_name: media.fileName,
  }
}

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

/**
 * The message as it stands at `now`. What a send answers is shown at its `createdAt`, so that a repeat
 * shows the same.
 */
export const messageJson = (message: Message, now: number, link: MediaLink): MessageJson => ({
  id: message.id,
  status: statusAt(message, now),
  from: message.from,
  to: recipientJson(message.to),
  text: message.text,
  media: mediaJson(message, now, link),
  send_at: instantOrNull(message.sendAt),
  expires_at: instantOrNull(message.expiresAt),
  created_at: formatInstant(message.createdAt),
  sent_at: instantOrNull(message.sentAt),
  error: message.error,
})
