/**
 * A decided change of a message: its new row, event, callback and refund. Pure; stores write it
 * unchanged, under a guard.
 *
 * The one module of the core that makes JSON and forms in the contract's names: the commit of the
 * change writes the bodies of its event and callback, and every attempt signs the same bytes (contract: Events).
 */
import type { ReplyTo } from "./Message.ts"
import { eventBody, eventData, serviceEvent, tickEvents, webhookEventTypes } from "./Event.ts"
import type {
  MessageEvent,
  MessageEventType,
  NumberEventType,
  PingEvent,
  ServiceEvent,
  TickEventType,
} from "./Event.ts"
import type {
  EventId,
  MediaId,
  MessageId,
  ReceivedMessageId,
  WebhookId,
  WorkspaceId,
} from "./Ids.ts"
import type { MediaLink, MediaType } from "./Media.ts"
import { publicMedia, statusAt, transition } from "./Message.ts"
import type {
  Message,
  MessageError,
  MessageState,
  MessageStatus,
  PublicMedia,
  Tick,
  Trigger,
} from "./Message.ts"
import { getEnd, pausedUntil } from "./SendingNumber.ts"
import type { ConnectionReason, NumberStatus, Pause, SendingNumber } from "./SendingNumber.ts"
import type { Recipient } from "./Recipient.ts"
import { formatInstant, instantOrNull, millisOrNull } from "./Time.ts"
import type { DeliveryAttempt } from "./WebhookEndpoint.ts"

// The public JSON of a message (contract: Messages): in events, and in the answers of HTTP.

export interface MessageJson {
  readonly id: MessageId
  readonly status: MessageStatus
  readonly from: Message["from"]
  readonly to: RecipientJson
  readonly text: string
  readonly media: MediaJson | null
  readonly send_at: string | null
  readonly expires_at: string | null
  readonly created_at: string
  readonly sent_at: string | null
  readonly error: MessageError | null
  /** Only of a message that quotes one. */
  readonly reply_to?: { readonly received_message_id: number } | { readonly message_id: number }
}

/** A contact that the request named, or that has the phone, goes with its phone or username. */
export type RecipientJson =
  | { readonly phone: string; readonly contact_id: number | null }
  | { readonly group: string }
  | { readonly contact_id: number; readonly username: string }
  | { readonly username: string }
  /** With what is known of the person or the group. */
  | {
      readonly chat_id: number
      readonly phone?: string
      readonly group?: string
      readonly username?: string
    }

export interface MediaJson {
  readonly media_id: number | null
  readonly url: string | null
  readonly type: MediaType | null
  readonly file_name: string | null
}

const recipientJson = (recipient: Recipient): RecipientJson => {
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
    case "chat": {
      const { address: _address, chatId, kind: _kind, ...known } = recipient
      return { chat_id: chatId, ...known }
    }
  }
}

const replyJson = (replyTo: ReplyTo) =>
  "messageId" in replyTo
    ? { message_id: replyTo.messageId }
    : { received_message_id: replyTo.receivedMessageId }

export const mediaJson = ({ fileName, mediaId, type, url }: PublicMedia): MediaJson => ({
  media_id: mediaId,
  url,
  type,
  file_name: fileName,
})

/**
 * The public message at `now`. A send is shown at its `createdAt`, so that a repeat gives the same
 * answer.
 */
export const messageJson = (message: Message, now: number, link: MediaLink): MessageJson => {
  const media = publicMedia(message, now, link)
  return {
    id: message.id,
    status: statusAt(message, now),
    from: message.from,
    to: recipientJson(message.to),
    text: message.text,
    media: media && mediaJson(media),
    send_at: instantOrNull(message.sendAt),
    expires_at: instantOrNull(message.expiresAt),
    created_at: formatInstant(message.createdAt),
    sent_at: instantOrNull(message.sentAt),
    error: message.error,
    ...(message.replyTo !== null && { reply_to: replyJson(message.replyTo) }),
  }
}

// Events (contract: Events): one envelope for all.

/** The event of a message in its new state at `now`. */
const messageEvent = (
  id: EventId,
  type: MessageEventType | TickEventType,
  message: Message,
  now: number,
  link: MediaLink,
): MessageEvent => ({
  id,
  type,
  workspaceId: message.workspaceId,
  mode: message.mode,
  messageId: message.id,
  createdAt: now,
  body: eventBody(id, type, now, { message: messageJson(message, now, link) }),
})

/** The event of a tick, which has moved the message at `now`. */
export const tickEvent = (
  id: EventId,
  tick: Tick,
  message: Message,
  now: number,
  link: MediaLink,
): MessageEvent => messageEvent(id, tickEvents[tick], message, now, link)

/** A change of a number that others may learn of. */
export interface NumberChangeReport {
  readonly type: NumberEventType
  readonly reason: ConnectionReason | null
  /** When the new state began. */
  readonly since: number
}

/** What is reported of a number's status, by that before it changed at `now`; undefined for
 * nothing. */
export const statusReport = (
  before: NumberStatus,
  status: NumberStatus,
  reason: ConnectionReason | null,
  now: number,
): NumberChangeReport | undefined => {
  if (status === before || status === "connecting") return undefined
  return { type: `number.${status}`, reason: status === "connected" ? null : reason, since: now }
}

/**
 * What is reported of a number's pause at `now`; undefined for nothing. `isReported`: the latest event told of its
 * begin. A pause that takes over from one that has ended without an event continues.
 */
export const pauseReport = (
  isReported: boolean,
  pause: Pause | null,
  now: number,
): NumberChangeReport | undefined => {
  const isPaused = pausedUntil(pause, now) !== null
  if (isPaused === isReported) return undefined
  return isPaused
    ? { type: "number.paused", reason: pause?.reason ?? null, since: now }
    : {
        type: "number.resumed",
        reason: null,
        since: pause === null ? now : Math.min(getEnd(pause), now),
      }
}

/** What an event says about its number. */
export const eventNumber = ({
  id,
  phone,
  platform,
  status,
}: SendingNumber): ReportedNumber["number"] => ({ id, phone, platform, status })

/** The event of a number, as the change left it at `now` (contract: Events of conversations). */
export const numberEvent = (
  id: EventId,
  { reason, since, type }: NumberChangeReport,
  number: SendingNumber,
  now: number,
): ServiceEvent =>
  serviceEvent(id, type, number, now, {
    number: eventNumber(number),
    reason,
    since: formatInstant(since),
  })

/** The `ping` that tests a webhook endpoint. */
export const pingEvent = (id: EventId, webhookId: WebhookId, now: number): PingEvent => ({
  id,
  createdAt: now,
  body: eventBody(id, "ping", now, { webhook_id: webhookId }),
})

/** A message as its event shows it. */
export interface ReportedMessage extends Pick<
  Message,
  "id" | "from" | "text" | "sendAt" | "expiresAt" | "createdAt" | "sentAt" | "error"
> {
  readonly status: MessageStatus
  readonly to:
    | { readonly phone: string; readonly contactId: number | null }
    | { readonly group: string }
    | { readonly contactId: number; readonly username: string }
    | { readonly username: string }
    | {
        readonly chatId: number
        readonly phone?: string
        readonly group?: string
        readonly username?: string
      }
  readonly media: PublicMedia | null
  /** Only of a message that quotes one. */
  readonly replyTo?: ReplyTo
}

const recipientOfJson = (to: RecipientJson): ReportedMessage["to"] => {
  if ("chat_id" in to) {
    const { chat_id: chatId, ...known } = to
    return { chatId, ...known }
  }
  if (!("contact_id" in to)) return to
  const { contact_id: contactId, ...named } = to
  return contactId === null || "phone" in named ? { ...named, contactId } : { ...named, contactId }
}

const replyOfJson = (json: NonNullable<MessageJson["reply_to"]>): ReplyTo =>
  "message_id" in json
    ? { messageId: json.message_id as MessageId }
    : { receivedMessageId: json.received_message_id as ReceivedMessageId }

/** Reads the message back from the body of its event. */
export const reportedMessage = (body: string): ReportedMessage => {
  const { message } = eventData<{ readonly message: MessageJson }>(body)
  const { created_at, expires_at, media, reply_to, send_at, sent_at, to, ...same } = message
  return {
    ...same,
    ...(reply_to !== undefined && { replyTo: replyOfJson(reply_to) }),
    to: recipientOfJson(to),
    media: media && {
      mediaId: media.media_id as MediaId | null,
      url: media.url,
      type: media.type,
      fileName: media.file_name,
    },
    sendAt: millisOrNull(send_at),
    expiresAt: millisOrNull(expires_at),
    createdAt: Date.parse(created_at),
    sentAt: millisOrNull(sent_at),
  }
}

/** A number as its event shows it. */
export interface ReportedNumber {
  readonly number: Pick<SendingNumber, "id" | "phone" | "platform" | "status">
  readonly reason: ConnectionReason | null
  readonly since: number
}

/** Reads the number back from the body of its event. */
export const reportedNumber = (body: string): ReportedNumber => {
  const data = eventData<Omit<ReportedNumber, "since"> & { readonly since: string }>(body)
  return { ...data, since: Date.parse(data.since) }
}

// Callbacks: form-encoded calls that report a message's outcome, or a number's connection, to the
// address of the request (contract: Version 1: callbacks). The commit that causes one freezes its
// body, so that every attempt is identical.

export interface Callback {
  /** The same in every attempt; a message's callback shares it with the webhook event. */
  readonly eventId: EventId
  readonly workspaceId: WorkspaceId
  /** The origin it goes to. Few calls run per target, so that no target delays another. */
  readonly target: string
  /** Its type in the delivery log. */
  readonly type: CallbackType
  readonly url: string
  /** The form, identical in every attempt. */
  readonly body: string
  readonly createdAt: number
}

export const callbackContentType = "application/x-www-form-urlencoded"

/** Final states, as `status` names them. */
const statusNames = {
  sent: "SENT",
  failed: "FAILED",
  cancelled: "CANCELLED",
  expired: "EXPIRED",
} as const satisfies Readonly<Partial<Record<MessageState, string>>>

/** Connection events (contract: Version 1: callbacks). */
const connectionEvents = ["qr-generated", "connected", "disconnected"] as const

export type ConnectionEvent = (typeof connectionEvents)[number]

/** What callbacks report: message events, under the same names, or connection events. */
export const callbackTypes = [...webhookEventTypes, ...connectionEvents] as const

export type CallbackType = (typeof callbackTypes)[number]

/** One callback attempt in the delivery log. */
export interface CallbackAttempt extends DeliveryAttempt<CallbackType> {
  readonly url: string
}

/** Whether that callback's address still receives reports of the number. */
export const isReportedTo = (
  number: { readonly callbackUrl: string | null; readonly removed: boolean },
  { url }: Pick<Callback, "url">,
): boolean => !number.removed && number.callbackUrl === url

const isReported = (state: MessageState): state is keyof typeof statusNames =>
  Object.hasOwn(statusNames, state)

const callback = (
  eventId: EventId,
  workspaceId: WorkspaceId,
  type: CallbackType,
  url: string,
  fields: Readonly<Record<string, string>>,
  createdAt: number,
): Callback => ({
  eventId,
  workspaceId,
  // Targets belong to one workspace, even when two share a receiver.
  target: URL.parse(url)?.origin ?? url,
  type,
  url,
  body: new URLSearchParams(fields).toString(),
  createdAt,
})

/**
 * Why a message failed, in version 1's words; null if it did not. Only callbacks say `Group not
 * found`, since sends do not look the group up (contract: Version 1: sends).
 */
export const failureText = (error: MessageError | null): string | null => {
  if (error === null) return null
  return error.code === "group_not_found" ? "Group not found" : error.message
}

/** The callback of a finished message; null when it has no address. */
export const messageCallback = (
  eventId: EventId,
  message: Message,
  now: number,
): Callback | null => {
  const { callbackUrl, state } = message
  if (callbackUrl === null || !isReported(state)) return null
  const error = state === "failed" ? failureText(message.error) : null
  return callback(
    eventId,
    message.workspaceId,
    `message.${state}`,
    callbackUrl,
    {
      msg_id: String(message.id),
      status: statusNames[state],
      ...(error === null ? {} : { error }),
    },
    now,
  )
}

/** The callback of a number's connection; `whatsapp_number` is empty while the phone is unknown. */
export const connectionCallback = (
  eventId: EventId,
  event: ConnectionEvent,
  number: Pick<SendingNumber, "id" | "workspaceId" | "phone">,
  url: string,
  now: number,
): Callback =>
  callback(
    eventId,
    number.workspaceId,
    event,
    url,
    { event, whatsapp_client: String(number.id), whatsapp_number: number.phone ?? "" },
    now,
  )

export interface MessageChange {
  readonly message: Message
  readonly event: MessageEvent
  /** Null when the message has no callback address. */
  readonly callback: Callback | null
  readonly refunds: boolean
}

export type Ending =
  /** `sentAt` when it is not the time of the change. */
  | { readonly trigger: "send_succeeded"; readonly sentAt?: number }
  | { readonly trigger: "send_failed"; readonly error: MessageError }
  | { readonly trigger: "cancel" | "expire" }

const changeTo = (
  ended: Message,
  { event, refunds }: Pick<MessageChange, "refunds"> & { readonly event: MessageEventType },
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange => ({
  message: ended,
  event: messageEvent(eventId, event, ended, now, link),
  callback: messageCallback(eventId, ended, now),
  refunds,
})

/** A refused message, stored at `now` as failed without ever waiting. */
export const refusedMessage = (
  message: Omit<Message, "state" | "sentAt" | "error">,
  error: MessageError,
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange =>
  changeTo(
    { ...message, state: "failed", sentAt: null, error },
    { event: "message.failed", refunds: false },
    eventId,
    now,
    link,
  )

/** Ends a waiting message at `now`; undefined if its state does not allow it. */
export const endMessage = (
  message: Message,
  ending: Ending,
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange | undefined => {
  const trigger: Trigger = ending.trigger
  const move = transition(message.state, trigger)
  if (move === undefined || move.event === null) return undefined
  const ended: Message = {
    ...message,
    state: move.to,
    sentAt: ending.trigger === "send_succeeded" ? (ending.sentAt ?? now) : null,
    error: ending.trigger === "send_failed" ? ending.error : null,
  }
  return changeTo(ended, { event: move.event, refunds: move.refunds }, eventId, now, link)
}
