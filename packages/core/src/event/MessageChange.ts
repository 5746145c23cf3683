/**
 * The end of a message's waiting, decided: what its row becomes, its event and its callback, and
 * whether allowance and quota get it back. Pure; the stores write it as it stands, guarded.
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

// A callback: the form-encoded call that reports the end of one message, or what becomes of the
// connection of one number, to the address that was given with it (contract: Version 1: callbacks).
// It is made in the commit that it reports, with its body frozen, so that every attempt says the
// same.

export interface Callback {
  /** The same on every attempt; of a message's callback also that of the webhook event. */
  readonly eventId: EventId
  readonly workspaceId: WorkspaceId
  /**
   * The origin it goes to. Only a few calls to one target are made at once, so that no target delays
   * another.
   */
  readonly target: string
  /** What it reports, as the delivery log calls it. */
  readonly type: CallbackType
  readonly url: string
  /** The form as every attempt sends it. */
  readonly body: string
  readonly createdAt: number
}

/** `Content-Type` of every callback. */
export const callbackContentType = "application/x-www-form-urlencoded"

/** How the states in which waiting ends are called in `status`. */
const statusNames = {
  sent: "SENT",
  failed: "FAILED",
  cancelled: "CANCELLED",
  expired: "EXPIRED",
} as const satisfies Readonly<Partial<Record<MessageState, string>>>

/** The events of a connection, in the contract's words (contract: Version 1: callbacks). */
const connectionEvents = ["qr-generated", "connected", "disconnected"] as const

export type ConnectionEvent = (typeof connectionEvents)[number]

/** What callbacks report: the end of a message, under the name of its event, or one of these. */
export const callbackTypes = [...webhookEventTypes, ...connectionEvents] as const

export type CallbackType = (typeof callbackTypes)[number]

/** One attempt at a callback, as the delivery log keeps it. */
export interface CallbackAttempt extends DeliveryAttempt<CallbackType> {
  readonly url: string
}

/** Whether a number's connection is still reported to the address of that callback. */
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
  // Each workspace has targets of its own, although two may share a receiver.
  target: URL.parse(url)?.origin ?? url,
  type,
  url,
  body: new URLSearchParams(fields).toString(),
  createdAt,
})

/**
 * Why a message failed, in version 1's words; null when it did not. `Group not found` is said here
 * alone: a send does not look for the group (contract: Version 1: sends).
 */
export const failureText = (error: MessageError | null): string | null => {
  if (error === null) return null
  return error.code === "group_not_found" ? "Group not found" : error.message
}

/** The callback of a message that has come to its end; null when it was sent without one. */
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

/** The callback of a number's connection; `whatsapp_number` is empty while its phone is not known. */
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
  /** The message in its new state. */
  readonly message: Message
  readonly event: MessageEvent
  /** Reports the end to the message's own address; null when it has none. */
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

/** A message that is stored at `now` although it was refused: it has failed before it ever waited. */
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

/** Ends a waiting message at `now`; undefined when its state has no such move. */
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
