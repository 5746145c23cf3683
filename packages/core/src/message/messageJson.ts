/** A Message as version 2 and its events show it (contract: Message). */
import { recipientJson } from "../recipient/Recipient.ts"
import type { MediaReference } from "../media/Media.ts"
import { formatInstant } from "../time/Instant.ts"
import { statusAt, statusAtAcceptance } from "./Message.ts"
import type { Message, MessageStatus } from "./Message.ts"

const instantOrNull = (millis: number | null) => (millis === null ? null : formatInstant(millis))

const mediaJson = (media: MediaReference | null) =>
  media === null
    ? null
    : {
        media_id: media.mediaId,
        url: media.url,
        type: media.type,
        file_name: media.fileName,
      }

const json = (message: Message, status: MessageStatus) => ({
  id: message.id,
  status,
  from: message.from,
  to: recipientJson(message.to),
  text: message.text,
  media: mediaJson(message.media),
  send_at: instantOrNull(message.sendAt),
  expires_at: instantOrNull(message.expiresAt),
  created_at: formatInstant(message.createdAt),
  sent_at: instantOrNull(message.sentAt),
  error: message.error,
})

export type MessageJson = ReturnType<typeof json>

/** The message as it stands at `now`. */
export const messageJson = (message: Message, now: number): MessageJson =>
  json(message, statusAt(message, now))

/**
 * The message as it was answered when it was accepted, whatever became of it since: the first
 * answer that a repeat with the same `Idempotency-Key` gets again.
 */
export const acceptedMessageJson = (message: Message): MessageJson =>
  json({ ...message, sentAt: null, error: null }, statusAtAcceptance(message))
