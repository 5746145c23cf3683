/**
 * A message and its life: one table of states and triggers, from which every change of state is
 * taken. What a client sees as `queued` or `scheduled` is one stored state, `waiting`: which of the
 * two it is follows from `sendAt` and the time of the answer, so it can never be out of date.
 */
import type { MessageId, NumberId, TransportId, WorkspaceId } from "../Ids.ts"
import type { MediaType } from "../media/contentType.ts"
import type { MediaReference } from "../media/Media.ts"
import type { Platform } from "../number/SendingNumber.ts"
import type { Recipient } from "../recipient/Recipient.ts"
import type { Mode } from "../workspace/Workspace.ts"

/** What a client reads in `status` (contract: Message status). */
export const messageStatuses = [
  "queued",
  "scheduled",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "expired",
] as const

export type MessageStatus = (typeof messageStatuses)[number]

/** What is stored: `queued` and `scheduled` are one. */
export type MessageState = "waiting" | Exclude<MessageStatus, "queued" | "scheduled">

export const messageErrorCodes = [
  "recipient_not_found",
  "group_not_found",
  "media_unavailable",
  "send_failed",
  "outcome_unknown",
] as const

/** Why a message failed (contract: Messages). */
export type MessageErrorCode = (typeof messageErrorCodes)[number]

export interface MessageError {
  readonly code: MessageErrorCode
  readonly message: string
}

export interface Message {
  readonly id: MessageId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly state: MessageState
  readonly from: {
    readonly id: NumberId
    /** The number's phone of the moment while the message waits, then the one that it left from. */
    readonly phone: string | null
    readonly platform: Platform
  }
  /** The number's phone at acceptance, which the first answer showed. */
  readonly phoneAtAcceptance: string | null
  readonly to: Recipient
  readonly text: string
  readonly media: MediaReference | null
  /**
   * What the media turned out to be when it was sent, where neither the request nor the link's ending
   * told; null until then, and where they did.
   */
  readonly foundMediaType: MediaType | null
  readonly sendAt: number | null
  readonly expiresAt: number | null
  readonly createdAt: number
  /** Planned time: `sendAt`, else `createdAt`. Orders the lane and governs the 24-hour quota. */
  readonly dueAt: number
  readonly sentAt: number | null
  readonly error: MessageError | null
  readonly transportId: TransportId
  /** Where its end is reported beside the webhook endpoints (contract: Version 1: callbacks). */
  readonly callbackUrl: string | null
}

/** What moves a message. */
export type Trigger =
  | "send_succeeded"
  | "send_failed"
  | "cancel"
  | "expire"
  | "delivery_tick"
  | "read_tick"

/** The events that webhooks can hear of (contract: Events). */
export type MessageEventType =
  | "message.sent"
  | "message.failed"
  | "message.cancelled"
  | "message.expired"

export interface Transition {
  readonly to: MessageState
  /** Null: the change is not announced. */
  readonly event: MessageEventType | null
  /** Whether the plan's allowance and the number's quota get the message back. */
  readonly givesBack: boolean
}

const silent = (to: MessageState): Transition => ({ to, event: null, givesBack: false })

/** Every allowed move (contract: Message status). What is not in the table does not happen. */
export const transitions: Readonly<
  Record<MessageState, Readonly<Partial<Record<Trigger, Transition>>>>
> = {
  waiting: {
    send_succeeded: { to: "sent", event: "message.sent", givesBack: false },
    send_failed: { to: "failed", event: "message.failed", givesBack: false },
    cancel: { to: "cancelled", event: "message.cancelled", givesBack: true },
    expire: { to: "expired", event: "message.expired", givesBack: true },
  },
  sent: { delivery_tick: silent("delivered"), read_tick: silent("read") },
  delivered: { read_tick: silent("read") },
  read: {},
  failed: {},
  cancelled: {},
  expired: {},
}

/** The move that `trigger` makes from `state`, or undefined when it makes none. */
export const transition = (state: MessageState, trigger: Trigger): Transition | undefined =>
  transitions[state][trigger]

/**
 * The states that give back what a message took (contract: Allowance, Quota). It then no longer counts in
 * its number's quota.
 */
export const statesGivenBack: ReadonlyArray<MessageState> = Object.values(transitions)
  .flatMap((moves) => Object.values(moves))
  .flatMap(({ givesBack, to }) => (givesBack ? to : []))

const statesBefore = (state: MessageState) =>
  (Object.keys(transitions) as ReadonlyArray<MessageState>).filter((from) =>
    Object.values(transitions[from]).some(({ to }) => to === state),
  )

/**
 * The states that a tick moves on from. Ticks repeat, skip and come out of order: the state only ever
 * moves forward (contract: Message status).
 */
export const movedByTick = { delivered: statesBefore("delivered"), read: statesBefore("read") }

/** A tick of the far side: the state that it moves a message to. */
export type Tick = keyof typeof movedByTick

/** Whether the message's time is over: from `expiresAt` on it is not sent any more. */
export const hasExpired = ({ expiresAt }: Pick<Message, "expiresAt">, now: number): boolean =>
  expiresAt !== null && expiresAt <= now

/** The status a client reads at `now`: a scheduled message becomes `queued` when due. */
export const statusAt = (
  message: Pick<Message, "state" | "sendAt">,
  now: number,
): MessageStatus => {
  if (message.state !== "waiting") return message.state
  return message.sendAt !== null && message.sendAt > now ? "scheduled" : "queued"
}

/**
 * The message as it was when it was accepted, whatever became of it since: what a repeat with the same
 * `Idempotency-Key` is answered with.
 */
export const asAccepted = (message: Message): Message => ({
  ...message,
  state: "waiting",
  from: { ...message.from, phone: message.phoneAtAcceptance },
  foundMediaType: null,
  sentAt: null,
  error: null,
})
