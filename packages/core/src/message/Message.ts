/**
 * A message and its life: one table of states and triggers, from which every change of state is
 * taken. What a client sees as `queued` or `scheduled` is one stored state, `waiting`: which of the
 * two it is follows from `sendAt` and the time of the answer, so it can never be out of date.
 */
import { Context, Schema } from "effect"
import type { EventId, MessageId, NumberId, TransportId, WebhookId, WorkspaceId } from "../Ids.ts"
import { MediaReferenceJson, storedFileOf } from "../media/Media.ts"
import type { MediaLink, MediaReference, MediaType } from "../media/Media.ts"
import { platforms } from "../number/SendingNumber.ts"
import type { Platform } from "../number/SendingNumber.ts"
import { RecipientJson } from "../recipient/Recipient.ts"
import type { Recipient } from "../recipient/Recipient.ts"
import { described, TimeJson } from "../request/Input.ts"
import { formatInstant, instantOrNull } from "../time/Time.ts"
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

const messageErrorCodes = [
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

// What a Message looks like in version 2 and its events (contract: Messages).

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

// How a Message is shown. Without schemas, so that an import of it costs no more than it says.

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

// Events: what others must hear of. Each is written in the commit that changes the message, with
// its body frozen, so that no change goes unannounced and every delivery says the same.

export interface MessageEvent {
  readonly id: EventId
  readonly type: MessageEventType
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly messageId: MessageId
  readonly createdAt: number
  /** The envelope's bytes as every attempt sends them (contract: Events). */
  readonly body: string
}

/** The event of a message in its new state at `now`. */
export const messageEvent = (
  id: EventId,
  type: MessageEventType,
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
  body: JSON.stringify({
    id,
    type,
    created_at: formatInstant(now),
    data: { message: messageJson(message, now, link) },
  }),
})

/** The `ping` that a test of a webhook endpoint sends (contract: Events). */
export type PingEvent = Pick<MessageEvent, "id" | "createdAt" | "body">

/** A ping of that endpoint, made at `now`. */
export const pingEvent = (id: EventId, webhookId: WebhookId, now: number): PingEvent => ({
  id,
  createdAt: now,
  body: JSON.stringify({
    id,
    type: "ping",
    created_at: formatInstant(now),
    data: { webhook_id: webhookId },
  }),
})

// The 24-hour quota of a number (contract: Quota): no 24 hours hold more than 1,000 of the number's
// messages that are not cancelled or expired, test messages aside, each counted at its planned
// time. A new message at t falls into the windows (x - 24 h, x] with t ≤ x < t + 24 h, and is
// accepted only if none of them overflows: what was planned is never pushed out by what is accepted
// later.
// Exact and cheap: the lane keeps an upper bound of the messages planned after 24 hours ago,
// whatever lies ahead included. As long as bound + new ≤ limit no window can overflow and nothing is
// counted. Otherwise the store counts the windows exactly, and remembers until when the number is
// full.

export interface QuotaLimit {
  readonly messages: number
  readonly windowMillis: number
}

/** Fair use (contract: Quota): 1,000 messages per number in 24 hours. */
export const dailyQuota: QuotaLimit = { messages: 1000, windowMillis: 24 * 60 * 60 * 1000 }

/** The limit in force. A simulation lowers it, so that few messages fill a number. */
export const DailyQuota = /*#__PURE__*/ Context.Reference<QuotaLimit>("core/DailyQuota", {
  defaultValue: () => dailyQuota,
})

/** Whether a message counts: live ones do, unless they were refused or have given back what they took. */
export const countsInQuota = (
  message: Pick<Message, "mode" | "state">,
  refused: boolean,
): boolean => message.mode === "live" && !refused && !statesGivenBack.includes(message.state)

/** What an acceptance plans to put into a number's window. */
export interface PlannedQuota {
  /** The planned time of all new messages: `sendAt`, else now. */
  readonly plannedAt: number
  readonly count: number
  readonly limit: QuotaLimit
}

export interface QuotaFacts {
  /** At least as many as any window that ends now or later holds. */
  readonly bound: number
  /**
   * The earliest planned time with room for a message, from the last exact count that found none
   * before it. Null when unknown, or when a message was given back or accepted since that may have
   * changed it.
   */
  readonly fullUntil: number | null
  /** Present only when asked for. */
  readonly exact: ExactQuota | null
}

export interface ExactQuota {
  /** What the fullest window holds that a message planned then falls into. */
  readonly planned: number
  /**
   * The earliest planned time, not before the asked one, at which there is room for `count` more;
   * null when there is none, because `count` is over the limit.
   */
  readonly roomAt: number | null
}

type QuotaVerdict =
  | { readonly _tag: "Fits" }
  | {
      readonly _tag: "Full"
      /** How many still fit at the planned time. */
      readonly room: number
      /** The earliest planned time, not before the asked one, at which all fit; null when there is none. */
      readonly roomAt: number | null
    }

/**
 * Whether the new messages fit, by what is known. Without an exact count a `Fits` is to be
 * confirmed by the guard of the commit, which counts under the lane's lock, and `room` and `roomAt` of
 * a `Full` are those of one message: several may have to wait longer.
 */
export const quotaVerdict = (facts: QuotaFacts, planned: PlannedQuota): QuotaVerdict => {
  if (facts.exact !== null) {
    if (fitsExactly(facts.exact, planned)) return { _tag: "Fits" }
    const room = Math.max(0, planned.limit.messages - facts.exact.planned)
    return { _tag: "Full", room, roomAt: facts.exact.roomAt }
  }
  if (planned.count > planned.limit.messages) {
    return { _tag: "Full", room: Math.max(0, planned.limit.messages - facts.bound), roomAt: null }
  }
  if (facts.fullUntil !== null && planned.plannedAt < facts.fullUntil) {
    return { _tag: "Full", room: 0, roomAt: facts.fullUntil }
  }
  return { _tag: "Fits" }
}

/** `QuotaFacts.fullUntil` after an acceptance, which may take the room that the moment promised. */
export const fullUntilAfter = (
  full: number | null,
  { limit, plannedAt }: Pick<PlannedQuota, "plannedAt" | "limit">,
): number | null => (full !== null && plannedAt < full + limit.windowMillis ? null : full)

/** Whether the new messages fit beside what the fullest window holds. */
export const fitsExactly = (
  exact: Pick<ExactQuota, "planned">,
  { count, limit }: Pick<PlannedQuota, "count" | "limit">,
): boolean => exact.planned + count <= limit.messages

/** Whether the bound alone tells that there is room, so that nothing need be counted. */
export const fitsByBound = (
  { bound }: Pick<QuotaFacts, "bound">,
  { count, limit }: PlannedQuota,
): boolean => bound + count <= limit.messages

/** Whether a message that counts is among those of `bound`. */
export const isInBound = (plannedAt: number, now: number, windowMillis: number): boolean =>
  plannedAt > now - windowMillis

/** Whether only an exact count tells if the new messages fit, or when they will. */
export const needsCount = (facts: QuotaFacts, planned: PlannedQuota): boolean => {
  if (facts.exact !== null) return false
  return quotaVerdict(facts, planned)._tag === "Full"
    ? planned.count > 1
    : !fitsByBound(facts, planned)
}

/**
 * Counts exactly, from the planned times of a number's counting messages in ascending order; those
 * that are a window or more before `plannedAt` may be left out. Reads no further than it must.
 *
 * `count` more find room where no window holds more than limit - count. So one message more than
 * that, planned in a row within less than a window, bars every planned time later than a window
 * before the last of them and earlier than a window after the first. Both stores are held to this by
 * the contract suite.
 */
export const countExactly = (
  plannedTimes: Iterable<number>,
  { count, limit, plannedAt }: PlannedQuota,
): ExactQuota => {
  const { messages, windowMillis } = limit
  const inRow = messages - count + 1
  const times: Array<number> = []
  let gone = 0
  let planned = 0
  let roomAt = plannedAt
  for (const time of plannedTimes) {
    if (time <= plannedAt - windowMillis) continue
    if (time >= roomAt + windowMillis) break
    times.push(time)
    if (time < plannedAt + windowMillis) {
      const end = Math.max(time, plannedAt)
      while ((times[gone] ?? end) <= end - windowMillis) gone++
      planned = Math.max(planned, times.length - gone)
    }
    const first = inRow > 0 ? times[times.length - inRow] : undefined
    if (first !== undefined && time - first < windowMillis) {
      roomAt = Math.max(roomAt, first + windowMillis)
    }
  }
  return { planned, roomAt: inRow > 0 ? roomAt : null }
}

/**
 * Until when a number that is full now stays full: no planned time before that has room for even one
 * message. Null when it has room now; a full day that lies ahead says nothing about the time until then.
 */
export const fullUntil = (
  plannedTimes: Iterable<number>,
  now: number,
  limit: QuotaLimit,
): number | null => {
  const { planned, roomAt } = countExactly(plannedTimes, { plannedAt: now, count: 1, limit })
  return planned < limit.messages ? null : roomAt
}
