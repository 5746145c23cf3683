/**
 * The 24-hour quota of a number (contract: Quota): no 24 hours hold more than 1,000 of the number's
 * messages that are not cancelled or expired, test messages aside, each counted at its planned
 * time. A new message at t falls into the windows (x - 24 h, x] with t ≤ x < t + 24 h, and is
 * accepted only if none of them overflows: what was planned is never pushed out by what is accepted
 * later.
 *
 * Exact and cheap: the lane keeps an upper bound of the messages planned after 24 hours ago,
 * whatever lies ahead included. As long as bound + new ≤ limit no window can overflow and nothing is
 * counted. Otherwise the store counts the windows exactly, and remembers until when the number is
 * full.
 */
import { Context } from "effect"
import { statesGivenBack } from "./Message.ts"
import type { Message } from "./Message.ts"

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

export type QuotaVerdict =
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
