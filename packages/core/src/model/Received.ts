/**
 * Received messages and chats, as the store keeps them and as they are read (contract: Received messages
 * and chats). Pure.
 */
import type { ServiceEvent } from "./Event.ts"
import type { ChatId, EventId, MessageId, NumberId, ReceivedMessageId, WorkspaceId } from "./Ids.ts"
import { unknownPerson } from "./Incoming.ts"
import type { Person, ReceivedContent, ReceivedKind } from "./Incoming.ts"
import type { ReceivedFileLink } from "./Media.ts"
import type { StoredReceivedFile } from "./ReceivedFile.ts"
import type { SendingNumber } from "./SendingNumber.ts"
import { formatInstant, instantOrNull } from "./Time.ts"
import type { Mode } from "./Workspace.ts"

export type ChatType = "person" | "group"

/** A chat of a number with a person or a group. */
export interface Chat extends Person {
  readonly id: ChatId
  readonly numberId: NumberId
  readonly type: ChatType
  /** Of the latest activity, later ones higher: lists go by it. */
  readonly activity: number
  readonly lastReceivedAt: number | null
  readonly lastSentAt: number | null
  /** Messages of others that are not marked as read. */
  readonly unread: number
  readonly readUpTo: ReceivedMessageId | null
  /** The chat that goes on in its place: the same person was known under two addresses. */
  readonly mergedInto: ChatId | null
}

/** A stored message, as it is read. */
export interface ReceivedMessage {
  readonly id: ReceivedMessageId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** From 1, one more with each message stored for the number. */
  readonly sequence: number
  readonly number: Pick<SendingNumber, "id" | "phone" | "platform">
  readonly chat: { readonly id: ChatId; readonly type: ChatType; readonly name: string | null }
  readonly fromMe: boolean
  /** The number itself when the owner wrote it. */
  readonly from: Person
  readonly kind: ReceivedKind
  readonly text: string
  readonly content: ReceivedContent | null
  readonly file: StoredReceivedFile | null
  readonly replyTo: {
    readonly receivedMessageId: ReceivedMessageId | null
    readonly messageId: MessageId | null
    readonly text: string
  } | null
  readonly sentAt: number
  readonly receivedAt: number
  readonly editedAt: number | null
  readonly revokedAt: number | null
}

/** The number as the author of what its owner wrote. */
export const numberAsPerson = ({ phone }: Pick<SendingNumber, "phone">): Person => ({
  ...unknownPerson,
  phone: phone === null ? null : `+${phone}`,
})

// The public JSON of a received message (contract: Received messages and chats), in events and in answers.

const personJson = ({ userId, ...person }: Person) => ({
  phone: person.phone,
  lid: person.lid,
  user_id: userId,
  username: person.username,
  name: person.name,
})

const fileJson = (
  id: ReceivedMessageId,
  file: StoredReceivedFile,
  now: number,
  link: ReceivedFileLink | undefined,
) => ({
  state: file.state,
  mime_type: file.mimeType,
  size: file.size,
  file_name: file.fileName,
  seconds: file.seconds,
  sha256: file.sha256,
  url:
    link !== undefined && (file.state === "ready" || file.state === "remote")
      ? link(id, file.fileName, now)
      : null,
})

/** The public message. Without `link` its file has no URL. */
export const receivedJson = (message: ReceivedMessage, now: number, link?: ReceivedFileLink) => {
  const { chat, file, from, number, replyTo } = message
  return {
    id: message.id,
    sequence: message.sequence,
    number: { id: number.id, phone: number.phone, platform: number.platform },
    chat: { id: chat.id, type: chat.type, name: chat.name },
    from_me: message.fromMe,
    from: personJson(from),
    kind: message.kind,
    text: message.text,
    content: message.content,
    media: file && fileJson(message.id, file, now, link),
    reply_to: replyTo && {
      received_message_id: replyTo.receivedMessageId,
      message_id: replyTo.messageId,
      text: replyTo.text,
    },
    reactions: [],
    sent_at: formatInstant(message.sentAt),
    received_at: formatInstant(message.receivedAt),
    edited_at: instantOrNull(message.editedAt),
    revoked_at: instantOrNull(message.revokedAt),
  }
}

export type ReceivedJson = ReturnType<typeof receivedJson>

/** Reads the message back from the body of its event. */
export const reportedReceived = (body: string): ReceivedJson =>
  (JSON.parse(body) as { readonly data: { readonly received_message: ReceivedJson } }).data
    .received_message

/** Bytes of an event's body. */
const maximumBodyBytes = 300 * 1024

const utf8 = /*#__PURE__*/ new TextEncoder()

/** The event of a message that was just stored (contract: Events of conversations). */
export const receivedEvent = (
  id: EventId,
  message: ReceivedMessage,
  link?: ReceivedFileLink,
): ServiceEvent => {
  const type = message.fromMe ? "message.echo" : "message.received"
  const json = receivedJson(message, message.receivedAt, link)
  const toBody = (received: ReceivedJson): string =>
    JSON.stringify({
      id,
      type,
      created_at: formatInstant(message.receivedAt),
      data: { received_message: received },
    })
  const whole = toBody(json)
  return {
    id,
    type,
    workspaceId: message.workspaceId,
    mode: message.mode,
    messageId: null,
    receivedMessageId: message.id,
    createdAt: message.receivedAt,
    body:
      utf8.encode(whole).length <= maximumBodyBytes ? whole : toBody({ ...json, content: null }),
  }
}
