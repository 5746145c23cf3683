/**
 * The 24-hour quota of a number (decisions: Messages): a new message is accepted only if the
 * number's messages that are not cancelled or expired, test messages aside, planned after 24 hours
 * before its own planned time and up to and including it, are fewer than 1,000.
 *
 * Exact and cheap: the lane keeps an upper bound of the messages planned after 24 hours ago,
 * whatever lies ahead included. As long as bound + new ≤ limit no window can overflow and nothing is
 * counted. Otherwise the store counts the window exactly, and remembers until when it is full.
 */

export interface QuotaLimit {
  readonly messages: number
  readonly windowMillis: number
}

/** The contract's fair use: 1,000 messages per number in 24 hours. */
export const dailyQuota: QuotaLimit = { messages: 1000, windowMillis: 24 * 60 * 60 * 1000 }

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
   * From the last exact count that found the window full: no planned time before this moment has
   * room for even one message. Null when unknown, or when a message was given back since.
   */
  readonly fullUntil: number | null
  /** Present only when asked for. */
  readonly exact: ExactQuota | null
}

export interface ExactQuota {
  /** Messages in (plannedAt - window, plannedAt]. */
  readonly planned: number
  /** The earliest planned time, not before the asked one, whose window has room for `count` more. */
  readonly roomAt: number
}

export type QuotaVerdict =
  | { readonly _tag: "Fits" }
  | { readonly _tag: "Full"; readonly roomAt: number | null }

/**
 * Whether the new messages fit, by what is known. Without an exact count a `Fits` is to be
 * confirmed by the guard of the commit, which counts under the lane's lock.
 */
export const quotaVerdict = (facts: QuotaFacts, planned: PlannedQuota): QuotaVerdict => {
  if (planned.count > planned.limit.messages) return { _tag: "Full", roomAt: null }
  if (facts.exact !== null) {
    return facts.exact.planned + planned.count <= planned.limit.messages
      ? { _tag: "Fits" }
      : { _tag: "Full", roomAt: facts.exact.roomAt }
  }
  if (facts.fullUntil !== null && planned.plannedAt < facts.fullUntil) {
    return { _tag: "Full", roomAt: facts.fullUntil }
  }
  return { _tag: "Fits" }
}

/**
 * Counts a window exactly from the planned times of a number's counting messages.
 * `planned` need not be sorted. Both stores are held to this by the contract suite.
 */
export const countExactly = (
  plannedTimes: ReadonlyArray<number>,
  planned: PlannedQuota,
): ExactQuota => {
  const { limit, plannedAt, count } = planned
  const sorted = plannedTimes.toSorted((a, b) => a - b)
  const inWindow = (at: number) =>
    sorted.filter((time) => time > at - limit.windowMillis && time <= at).length
  const now = inWindow(plannedAt)
  if (now + count <= limit.messages) return { planned: now, roomAt: plannedAt }
  // Room appears only when a message leaves the window: candidates are those moments.
  for (const time of sorted) {
    const at = time + limit.windowMillis
    if (at > plannedAt && inWindow(at) + count <= limit.messages)
      return { planned: now, roomAt: at }
  }
  return { planned: now, roomAt: plannedAt + limit.windowMillis }
}
