/**
 * A decided change of a message: its new row, event, callback and refund. Pure; stores write it
 * unchanged, under a guard.
 */
import type { EventId, WorkspaceId } from "../Ids.ts"
import type { MediaLink } from "../media/Media.ts"
import { messageEvent, transition } from "../message/Message.ts"
import type {
  Message,
  MessageError,
  MessageEvent,
  MessageEventType,
  MessageState,
  Trigger,
} from "../message/Message.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import { webhookEventTypes } from "../webhook/WebhookEndpoint.ts"
import type { DeliveryAttempt } from "../webhook/WebhookEndpoint.ts"

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
  readonly givesBack: boolean
}

export type Ending =
  | { readonly trigger: "send_succeeded" }
  | { readonly trigger: "send_failed"; readonly error: MessageError }
  | { readonly trigger: "cancel" | "expire" }

const changeTo = (
  ended: Message,
  { event, givesBack }: Pick<MessageChange, "givesBack"> & { readonly event: MessageEventType },
  eventId: EventId,
  now: number,
  link: MediaLink,
): MessageChange => ({
  message: ended,
  event: messageEvent(eventId, event, ended, now, link),
  callback: messageCallback(eventId, ended, now),
  givesBack,
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
    { event: "message.failed", givesBack: false },
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
    sentAt: ending.trigger === "send_succeeded" ? now : null,
    error: ending.trigger === "send_failed" ? ending.error : null,
  }
  return changeTo(ended, { event: move.event, givesBack: move.givesBack }, eventId, now, link)
}
