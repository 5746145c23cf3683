/** How a Message is shown. Without schemas, so that an import of it costs no more than it says. */
import { storedFileOf } from "../media/FileState.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import type { Recipient } from "../recipient/Recipient.ts"
import { formatInstant, instantOrNull } from "../time/Instant.ts"
import { statusAt } from "./Message.ts"
import type { Message } from "./Message.ts"
import type { MessageJson } from "./MessageAnswer.ts"

const recipientJson = (recipient: Recipient): MessageJson["to"] => {
  switch (recipient.kind) {
    case "phone":
      return { phone: recipient.phone, contact_id: recipient.contactId }
    case "group":
      return { group: recipient.group }
    case "contact_phone":
      return { contact_id: recipient.contactId, phone: recipient.phone }
    case "contact_username":
      return { contact_id: recipient.contactId, username: recipient.username }
    case "username":
      return { username: recipient.username }
  }
}

/**
 * A stored file shows a link that works for 26 hours, or none when it is gone; a customer's own link is
 * passed on as it is. An attachment has no id that a request could name.
 */
const mediaJson = (
  { foundMediaType, media }: Pick<Message, "foundMediaType" | "media">,
  now: number,
  link: MediaLink,
) => {
  if (media === null) return null
  const stored = storedFileOf(media)
  const linked = () => (stored === null ? media.url : link(stored, media.fileName, now))
  const url = media.isMissing === true ? null : linked()
  return {
    media_id: media.mediaId,
    url,
    type: media.type ?? foundMediaType,
    file_name: media.fileName,
  }
}

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
