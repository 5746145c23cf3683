/**
 * A message and its life cycle: the state machine, what callers see of it, and the daily quota.
 * One table of states and triggers decides every change of state. `queued` and `scheduled` share
 * the stored state `waiting`; `sendAt` and the current time tell them apart, so the status is never
 * stale.
 */
import { Context } from "effect"
import type { MessageEventType } from "./Event.ts"
import type {
  CampaignId,
  MessageId,
  NumberId,
  ReceivedMessageId,
  TransportId,
  WorkspaceId,
} from "./Ids.ts"
import { storedFileId } from "./Media.ts"
import type { MediaLink, MediaReference, MediaType } from "./Media.ts"
import type { Platform } from "./SendingNumber.ts"
import type { Recipient } from "./Recipient.ts"
import type { Mode } from "./Workspace.ts"

/** Values of `status` (contract: Message status). */
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

/** Of messages that wait. */
export const waitingStatuses = ["queued", "scheduled"] as const

export type WaitingStatus = (typeof waitingStatuses)[number]

/** The stored state; `waiting` covers `queued` and `scheduled`. */
export type MessageState = "waiting" | Exclude<MessageStatus, WaitingStatus>

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

/** The campaign and the row that a message was made of. */
export interface CampaignOrigin {
  readonly id: CampaignId
  readonly row: number
}

/** The message that a send answers: one that was received, or one that was sent. */
export type ReplyTo =
  | { readonly receivedMessageId: ReceivedMessageId }
  | { readonly messageId: MessageId }

export interface Message {
  readonly id: MessageId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly state: MessageState
  readonly from: {
    readonly id: NumberId
    /** The number's current phone while the message waits, then the phone that sent it. */
    readonly phone: string | null
    readonly platform: Platform
  }
  /** The number's phone at acceptance, as the first answer showed it. */
  readonly phoneAtAcceptance: string | null
  readonly to: Recipient
  readonly text: string
  readonly media: MediaReference | null
  /**
   * The media type found while sending; null before that, or if the request or URL already gave it.
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
  /** Receives the outcome in addition to the webhook endpoints (contract: Version 1: callbacks). */
  readonly callbackUrl: string | null
  /** What the program or the operator calls it; webhooks do not show it. */
  readonly reference: string | null
  /** The row that it was made of; null without a campaign, and once that was removed. */
  readonly campaign: CampaignOrigin | null
  /** What it quotes (contract: Answers). */
  readonly replyTo: ReplyTo | null
}

export type Trigger =
  | "send_succeeded"
  | "send_failed"
  | "cancel"
  | "expire"
  | "delivery_tick"
  | "read_tick"

export interface Transition {
  readonly to: MessageState
  /** Null: only `tickEvents` announces the change, where conversations are on. */
  readonly event: MessageEventType | null
  /** Whether the plan's allowance and the number's quota are refunded. */
  readonly refunds: boolean
}

const silent = (to: MessageState): Transition => ({ to, event: null, refunds: false })

/** Every allowed transition (contract: Message status). */
export const transitions: Readonly<
  Record<MessageState, Readonly<Partial<Record<Trigger, Transition>>>>
> = {
  waiting: {
    send_succeeded: { to: "sent", event: "message.sent", refunds: false },
    send_failed: { to: "failed", event: "message.failed", refunds: false },
    cancel: { to: "cancelled", event: "message.cancelled", refunds: true },
    expire: { to: "expired", event: "message.expired", refunds: true },
  },
  sent: { delivery_tick: silent("delivered"), read_tick: silent("read") },
  delivered: { read_tick: silent("read") },
  read: {},
  failed: {},
  cancelled: {},
  expired: {},
}

/** The transition that `trigger` causes in `state`; undefined if none. */
export const transition = (state: MessageState, trigger: Trigger): Transition | undefined =>
  transitions[state][trigger]

/** States that refund allowance and quota (contract: Allowance, Quota). */
export const refundedStates: ReadonlyArray<MessageState> = Object.values(transitions)
  .flatMap((moves) => Object.values(moves))
  .flatMap(({ refunds, to }) => (refunds ? to : []))

const statesBefore = (state: MessageState) =>
  (Object.keys(transitions) as ReadonlyArray<MessageState>).filter((from) =>
    Object.values(transitions[from]).some(({ to }) => to === state),
  )

/**
 * The states that each tick moves on from. Ticks repeat, skip and arrive out of order; the state
 * only moves forward (contract: Message status).
 */
export const movedByTick = { delivered: statesBefore("delivered"), read: statesBefore("read") }

/** A delivery report from the remote, named by the state that it leads to. */
export type Tick = keyof typeof movedByTick

/** Whether it reached the remote, which can then show it as a quote. */
export const hasLeft = ({ state }: Pick<Message, "state">): boolean =>
  state === "sent" || state === "delivered" || state === "read"

/** Whether `expiresAt` has passed; an expired message is never sent. */
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
 * The message as accepted, whatever happened since. Answers a repeat with the same
 * `Idempotency-Key`.
 */
export const asAccepted = (message: Message): Message => ({
  ...message,
  state: "waiting",
  from: { ...message.from, phone: message.phoneAtAcceptance },
  foundMediaType: null,
  sentAt: null,
  error: null,
})

/** The file of a message as callers see it. */
export interface PublicMedia extends Pick<
  MediaReference,
  "mediaId" | "url" | "type" | "fileName"
> {}

/**
 * A stored file gets a link valid for 26 hours, or null once the file is gone. A customer's own
 * link passes through unchanged. Attachments have no id that a request could name.
 */
export const publicMedia = (
  { foundMediaType, media }: Pick<Message, "foundMediaType" | "media">,
  now: number,
  link: MediaLink,
): PublicMedia | null => {
  if (media === null) return null
  const { fileName, mediaId } = media
  const stored = storedFileId(media)
  const linked = () => (stored === null ? media.url : link(stored, fileName, now))
  const url = media.isMissing === true ? null : linked()
  return { mediaId, url, type: media.type ?? foundMediaType, fileName }
}

// The 24-hour quota of a number (contract: Quota). No 24-hour window may hold more than 1,000 live
// messages, counted at their planned time; cancelled and expired ones do not count.
// A new message at t falls into the windows (x - 24 h, x] with t ≤ x < t + 24 h. Acceptance
// requires that none of them overflows, so later messages never displace planned ones.
// For speed the lane keeps an upper bound of the messages planned since 24 hours ago, future ones
// included. While bound + new ≤ limit, no window can overflow and no count is needed. Otherwise the
// store counts the windows exactly and remembers until when the number is full.

export interface QuotaLimit {
  readonly messages: number
  readonly windowMillis: number
}

/** Fair use (contract: Quota): 1,000 messages per number in 24 hours. */
export const dailyQuota: QuotaLimit = { messages: 1000, windowMillis: 24 * 60 * 60 * 1000 }

/** The limit in force. Simulations lower it, so that a few messages fill a number. */
export const DailyQuota = /*#__PURE__*/ Context.Reference<QuotaLimit>("core/DailyQuota", {
  defaultValue: () => dailyQuota,
})

/** Whether a message counts: a live one does, unless it was refused or refunded. */
export const countsInQuota = (
  message: Pick<Message, "mode" | "state">,
  refused: boolean,
): boolean => message.mode === "live" && !refused && !refundedStates.includes(message.state)

export interface PlannedQuota {
  /** The planned time of all new messages: `sendAt`, else now. Epoch milliseconds. */
  readonly plannedAt: number
  readonly count: number
  readonly limit: QuotaLimit
}

export interface QuotaFacts {
  /** Upper bound of the messages in any window that ends now or later. */
  readonly bound: number
  /**
   * The earliest planned time with room, as of the last exact count that found the number full.
   * Null when unknown, or when a later acceptance or refund may have changed it.
   */
  readonly fullUntil: number | null
  /** Present only if the query asked for it. */
  readonly exact: ExactQuota | null
}

export interface ExactQuota {
  /** Messages in the fullest window that contains the planned time. */
  readonly planned: number
  /**
   * The earliest time, from the planned one on, with room for `count` more. Null when `count`
   * exceeds the limit.
   */
  readonly roomAt: number | null
}

type QuotaVerdict =
  | { readonly _tag: "Fits" }
  | {
      readonly _tag: "Full"
      /** How many messages still fit at the planned time. */
      readonly room: number
      /** The earliest time, from the planned one on, at which all fit; null when there is none. */
      readonly roomAt: number | null
    }

/**
 * Whether the new messages fit, as far as the facts tell. Without an exact count, the commit's
 * guard must confirm a `Fits` under the lane's lock. `room` and `roomAt` of a `Full` then describe
 * one message; several may wait longer.
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

/** `QuotaFacts.fullUntil` after an acceptance, which may have used the room at that time. */
export const fullUntilAfter = (
  full: number | null,
  { limit, plannedAt }: Pick<PlannedQuota, "plannedAt" | "limit">,
): number | null => (full !== null && plannedAt < full + limit.windowMillis ? null : full)

/** Whether the new messages fit into the fullest window. */
export const fitsExactly = (
  exact: Pick<ExactQuota, "planned">,
  { count, limit }: Pick<PlannedQuota, "count" | "limit">,
): boolean => exact.planned + count <= limit.messages

/** Whether the bound alone proves that there is room. */
export const fitsByBound = (
  { bound }: Pick<QuotaFacts, "bound">,
  { count, limit }: PlannedQuota,
): boolean => bound + count <= limit.messages

/** Whether `bound` includes a counting message planned at that time. */
export const isInBound = (plannedAt: number, now: number, windowMillis: number): boolean =>
  plannedAt > now - windowMillis

/** Whether only an exact count can decide. */
export const needsCount = (facts: QuotaFacts, planned: PlannedQuota): boolean => {
  if (facts.exact !== null) return false
  return quotaVerdict(facts, planned)._tag === "Full"
    ? planned.count > 1
    : !fitsByBound(facts, planned)
}

/**
 * Counts exactly, from ascending planned times of a number's counting messages. Times a window or
 * more before `plannedAt` may be missing. It reads no further than necessary.
 *
 * `count` more fit where no window holds more than limit - count. So limit - count + 1 consecutive
 * messages within one window block an interval of planned times. It reaches from a window before
 * the last of them to a window after the first. The store contract suite holds both stores to this.
 */
export const countExactly = (
  plannedTimes: Iterable<number>,
  { count, limit, plannedAt }: PlannedQuota,
): ExactQuota => {
  const { messages, windowMillis } = limit
  const inRow = messages - count + 1
  const times: Array<number> = []
  let dropped = 0
  let planned = 0
  let roomAt = plannedAt
  for (const time of plannedTimes) {
    if (time <= plannedAt - windowMillis) continue
    if (time >= roomAt + windowMillis) break
    times.push(time)
    if (time < plannedAt + windowMillis) {
      const end = Math.max(time, plannedAt)
      while ((times[dropped] ?? end) <= end - windowMillis) dropped++
      planned = Math.max(planned, times.length - dropped)
    }
    const first = inRow > 0 ? times[times.length - inRow] : undefined
    if (first !== undefined && time - first < windowMillis) {
      roomAt = Math.max(roomAt, first + windowMillis)
    }
  }
  return { planned, roomAt: inRow > 0 ? roomAt : null }
}

/**
 * Until when a full number stays full: no earlier planned time fits even one message. Null when it
 * has room now, whatever lies ahead.
 */
export const fullUntil = (
  plannedTimes: Iterable<number>,
  now: number,
  limit: QuotaLimit,
): number | null => {
  const { planned, roomAt } = countExactly(plannedTimes, { plannedAt: now, count: 1, limit })
  return planned < limit.messages ? null : roomAt
}
