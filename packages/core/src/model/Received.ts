/**
 * Received messages and chats, as the store keeps them and as they are read (contract: Received messages
 * and chats). Pure.
 */
import { eventBody, eventData, gapEventType, serviceEvent } from "./Event.ts"
import type { ReceivedEventType, ServiceEvent } from "./Event.ts"
import type { ChatId, EventId, MessageId, NumberId, ReceivedMessageId, WorkspaceId } from "./Ids.ts"
import { fitText, unknownPerson } from "./Incoming.ts"
import type {
  GapReason,
  IncomingChange,
  IncomingGap,
  NewReceived,
  Person,
  ReceivedContent,
  ReceivedKind,
} from "./Incoming.ts"
import type { ReceivedFileLink } from "./Media.ts"
import type { Message } from "./Message.ts"
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
  /** The chat that continues in its place: the same person was known under two addresses. */
  readonly mergedInto: ChatId | null
}

/** A reaction of a person, or of the number's owner, to a message. */
export interface Reaction {
  /** The number itself for its owner. */
  readonly from: Person
  /** Null: it was taken back. */
  readonly emoji: string | null
  /** The author's time. */
  readonly at: number
}

/** Reactions that a message shows. */
export const mostReactions = 50

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
  /** One for each person, the latest last. */
  readonly reactions: ReadonlyArray<Reaction & { readonly emoji: string }>
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

const reactionJson = <Emoji extends string | null>({
  at,
  emoji,
  from,
}: Reaction & { readonly emoji: Emoji }) => ({
  from: personJson(from),
  emoji,
  at: formatInstant(at),
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

const replyToJson = (replyTo: NonNullable<ReceivedMessage["replyTo"]>) => ({
  received_message_id: replyTo.receivedMessageId,
  message_id: replyTo.messageId,
  text: replyTo.text,
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
    reply_to: replyTo && replyToJson(replyTo),
    reactions: message.reactions.map((one) => reactionJson(one)),
    sent_at: formatInstant(message.sentAt),
    received_at: formatInstant(message.receivedAt),
    edited_at: instantOrNull(message.editedAt),
    revoked_at: instantOrNull(message.revokedAt),
  }
}

export type ReceivedJson = ReturnType<typeof receivedJson>

/** Reads the message back from the body of its event. */
export const reportedReceived = (body: string): ReceivedJson =>
  eventData<{ readonly received_message: ReceivedJson }>(body).received_message

/** Bytes of an event's body. */
const maximumBodyBytes = 300 * 1024

const utf8 = /*#__PURE__*/ new TextEncoder()

/** What is left out first of an event that is too large; a text of escapes is cut at last. */
const outlined = (body: (json: object) => string, json: ReceivedJson): string => {
  const whole = body(json)
  // No character is longer in UTF-8.
  if (whole.length * 3 <= maximumBodyBytes) return whole
  const fits = (one: string): boolean => utf8.encode(one).length <= maximumBodyBytes
  if (fits(whole)) return whole
  const withoutReactions = body({ ...json, reactions: [] })
  if (fits(withoutReactions)) return withoutReactions
  const withoutContent = body({ ...json, reactions: [], content: null })
  if (fits(withoutContent)) return withoutContent
  const characters = Array.from(json.text)
  const cutAt = (length: number) => {
    const text = characters.slice(0, length).join("")
    return body({ ...json, reactions: [], content: { truncated: true }, text })
  }
  let [low, high] = [0, characters.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(cutAt(middle))) low = middle
    else high = middle - 1
  }
  return cutAt(low)
}

interface ChangeEvent {
  readonly id: EventId
  readonly type: ReceivedEventType
  readonly now: number
}

const eventOfReceived = (
  { id, now, type }: ChangeEvent,
  message: ReceivedMessage,
  link: ReceivedFileLink | undefined,
  others: object = {},
): ServiceEvent => ({
  id,
  type,
  workspaceId: message.workspaceId,
  mode: message.mode,
  messageId: null,
  receivedMessageId: message.id,
  createdAt: now,
  body: outlined(
    (received) => eventBody(id, type, now, { ...others, received_message: received }),
    receivedJson(message, now, link),
  ),
})

type ToEvent = Pick<NewReceived, "eventId" | "link">

/** What a message quotes once that was erased. */
export const erasedQuote = {
  receivedMessageId: null,
  messageId: null,
  text: "",
} satisfies ReceivedMessage["replyTo"]

/** The body of an event about a received message, once what that message quotes was erased. */
export const withoutQuote = (body: string): string => {
  const event = JSON.parse(body) as { readonly data: { readonly received_message: object } }
  const received = { ...event.data.received_message, reply_to: replyToJson(erasedQuote) }
  return JSON.stringify({ ...event, data: { ...event.data, received_message: received } })
}

/** The event of a message that was just stored (contract: Events of conversations). */
export const receivedEvent = (
  { eventId: id, link }: ToEvent,
  message: ReceivedMessage,
): ServiceEvent =>
  eventOfReceived(
    { id, type: message.fromMe ? "message.echo" : "message.received", now: message.receivedAt },
    message,
    link,
  )

/** The event of a stored message that was edited, revoked or recovered at `now`. */
export const changedEvent = (
  { eventId: id, link }: ToEvent,
  type: "message.edited" | "message.revoked" | "message.recovered",
  message: ReceivedMessage,
  now: number,
): ServiceEvent => eventOfReceived({ id, type, now }, message, link)

/** The event of a reaction to a received message, or to one of this service. */
export const reactionEvent = (
  { eventId: id, link, toMessageJson }: ToEvent & Pick<NewReceived, "toMessageJson">,
  reaction: Reaction,
  to: { readonly received: ReceivedMessage } | { readonly message: Message },
  now: number,
): ServiceEvent => {
  const event: ChangeEvent = { id, type: "message.reaction", now }
  const others = { reaction: reactionJson(reaction) }
  if ("received" in to) return eventOfReceived(event, to.received, link, others)
  const { id: messageId, mode, workspaceId } = to.message
  const body = eventBody(id, event.type, now, { ...others, message: toMessageJson(to.message) })
  return { id, type: event.type, workspaceId, mode, messageId, createdAt: now, body }
}

/** A reaction as its event shows it. */
export interface ReportedReaction {
  readonly reaction: Reaction
  /** Null when it is to a message of this service. */
  readonly received: ReceivedJson | null
}

/** Reads the reaction back from the body of its event. */
export const reportedReaction = (body: string): ReportedReaction => {
  const { reaction, received_message: received = null } = eventData<{
    readonly reaction: ReturnType<typeof reactionJson>
    readonly received_message?: ReceivedJson
  }>(body)
  const { user_id: userId, ...person } = reaction.from
  const from = { ...person, userId }
  return { reaction: { from, emoji: reaction.emoji, at: Date.parse(reaction.at) }, received }
}

/** Messages that may be missing, as their event shows them. */
export interface ReportedGap {
  readonly numberId: NumberId
  readonly from: number
  readonly until: number
  readonly reason: GapReason
}

/** Reads them back from the body of their event. */
export const reportedGap = (body: string): ReportedGap => {
  const { gap } = eventData<{
    readonly gap: {
      readonly number_id: NumberId
      readonly from: string
      readonly until: string
      readonly reason: GapReason
    }
  }>(body)
  const { from, number_id: numberId, reason, until } = gap
  return { numberId, from: Date.parse(from), until: Date.parse(until), reason }
}

/** The event of messages that may be missing, told at `now`. */
export const gapEvent = (
  id: EventId,
  { from, reason }: Pick<IncomingGap, "from" | "reason">,
  number: Pick<SendingNumber, "id" | "mode" | "workspaceId">,
  now: number,
): ServiceEvent =>
  serviceEvent(id, gapEventType, number, now, {
    gap: {
      number_id: number.id,
      from: formatInstant(Math.min(from, now)),
      until: formatInstant(now),
      reason,
    },
  })

// What changes make of a stored message. Null: nothing, and so without an event.

type Changeable = Pick<
  ReceivedMessage,
  "kind" | "text" | "content" | "file" | "editedAt" | "revokedAt"
>

/**
 * What an edit or a revocation makes of it. The times of a platform may be whole seconds: of two edits with one
 * time and other texts the one that comes later counts.
 */
export const changedMessage = <One extends Changeable>(
  message: One,
  { at, change }: Pick<IncomingChange, "at" | "change">,
): One | null => {
  if (message.revokedAt !== null || change.type === "reaction") return null
  if (change.type === "revocation") {
    return { ...message, text: "", content: null, file: null, revokedAt: at }
  }
  const { editedAt } = message
  const isOld = editedAt !== null && at < editedAt
  if (isOld || message.kind === "unreadable") return null
  const { truncated: _, ...content } = (message.content ?? {}) as { readonly truncated?: unknown }
  const rest = Object.keys(content).length === 0 ? null : (content as ReceivedContent)
  const edited = { ...message, ...fitText(change.text, rest), editedAt: at }
  return at === editedAt && edited.text === message.text ? null : edited
}

/** Whether a copy can be taken for one that could not be read. */
export const isRecovered = (message: Pick<ReceivedMessage, "kind" | "revokedAt">): boolean =>
  message.kind === "unreadable" && message.revokedAt === null

/** What a reaction makes of the author's latest one to the message; null for none. */
export const changedReaction = (
  latest: Pick<Reaction, "emoji" | "at"> | null,
  next: Pick<Reaction, "emoji" | "at">,
): { readonly isStored: boolean; readonly isTold: boolean } => {
  const isStored = latest === null || next.at > latest.at
  return { isStored, isTold: isStored && next.emoji !== (latest?.emoji ?? null) }
}
