/**
 * The rules of a lane: what is in the hands of a transport, what may be handed out, and when. Both
 * stores keep to them: docs/rules.md lists where.
 */
import { hasExpired } from "../message/Message.ts"
import type { Message } from "../message/Message.ts"
import type { QuotaLimit } from "../message/Quota.ts"
import { recipientLimits, sendLimits } from "../number/Pacing.ts"
import type { Pacing } from "../number/Pacing.ts"

/** How long a lane stays claimed after its holder died, in service time. */
export const laneLeaseMillis = 30_000

/** Whether a lease lasts; once it has ended, any worker may claim again what it was for. */
export const isLeased = (leaseUntil: number | null, now: number): boolean =>
  leaseUntil !== null && leaseUntil > now

/** What stands with something that is claimed. */
interface Claimed {
  /** Of the latest claim; grows with each. */
  readonly lease: number
  /** Null while it is not claimed. */
  readonly leaseUntil: number | null
}

/**
 * Whether a lease is the one under which something is claimed now, so that its holder may settle or renew
 * it: also when it has run out, as long as no other worker has claimed it again.
 */
export const holdsLease = (claimed: Claimed, lease: number): boolean =>
  claimed.leaseUntil !== null && claimed.lease === lease

/** How the attempts at one message stand. */
export interface Attempts {
  /** Whether a lease hands it out. */
  readonly leased: boolean
  /** Attempts that were begun and never settled. */
  readonly interruptions: number
}

/** Whether the message may have left: an attempt was interrupted, and its outcome is not known. */
export const mayHaveLeft = ({ interruptions }: Pick<Attempts, "interruptions">): boolean =>
  interruptions > 0

/**
 * Whether a waiting message is in the hands of a transport: while a lease hands it out, and after that
 * as long as it may have left. It can then neither be cancelled nor expire; only another attempt, or
 * giving up, settles it.
 */
export const isInHands = (attempts: Attempts): boolean => attempts.leased || mayHaveLeft(attempts)

/** Whether a claim may hand the message out: one that has expired is left to the sweep unless it may have left. */
export const mayBeHandedOut = (
  message: Pick<Message, "expiresAt">,
  attempts: Pick<Attempts, "interruptions">,
  now: number,
): boolean => mayHaveLeft(attempts) || !hasExpired(message, now)

/** What of a number decides whether its work goes on. */
export interface Standing {
  readonly connected: boolean
  readonly removed: boolean
}

/**
 * Whether a number's work goes on: while it is connected; and once it is removed, to settle what is
 * under way.
 */
export const isOpen = ({ connected, removed }: Standing): boolean => connected || removed

/**
 * Whether a lane can be claimed at all. Of a number that is not connected it can while its first message
 * may have left, which is concluded once it has expired.
 */
export const isClaimable = (lane: Standing, first: Attempts | null): boolean =>
  isOpen(lane) || (first !== null && isInHands(first))

/**
 * Until when a lane hands out nothing: without an end while its workspace is disabled, else until its
 * pause is over. Null: nothing stops it.
 */
export const stoppedUntil = (pausedUntil: number | null, isDisabled: boolean): number | null =>
  isDisabled ? Infinity : pausedUntil

/**
 * Until when a lane's first message is held back: by what stops the lane (see `stoppedUntil`), and what
 * may have left also while its number is not connected. What may have left is concluded as soon as it has expired: that asks no
 * transport, and only an operator may end that or bring the number back.
 */
export const holdsUntil = (
  stopped: number | null,
  lane: Standing,
  first: (Pick<Attempts, "interruptions"> & Pick<Message, "expiresAt">) | null,
): number | null => {
  if (first === null || !mayHaveLeft(first)) return stopped
  const until = isOpen(lane) ? stopped : Infinity
  return until === null || first.expiresAt === null ? until : Math.min(until, first.expiresAt)
}

/** Whether a moment is in the window that ends now. */
export const isInWindow = (moment: number, now: number, windowMillis: number): boolean =>
  moment > now - windowMillis && moment <= now

/** How many of ascending times are not later than a moment. */
const countUntil = (times: ReadonlyArray<number>, moment: number): number => {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((times[middle] ?? moment) <= moment) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * When there is room in a window for one more: as soon as the last of as many as fit was a window ago.
 * Null where there is room now. `times` are ascending; those after `now` do not count.
 */
export const cappedUntil = (
  times: ReadonlyArray<number>,
  now: number,
  { messages, windowMillis }: QuotaLimit,
): number | null => {
  const before = countUntil(times, now) - messages
  const lastThatFits = before < 0 ? undefined : times[before]
  return lastThatFits === undefined || !isInWindow(lastThatFits, now, windowMillis)
    ? null
    : lastThatFits + windowMillis
}

/** What decides whether the limits of a number let its first message leave. */
export interface LimitFacts {
  /** When its messages were sent, ascending. */
  readonly sentTimes: ReadonlyArray<number>
  /** When each of its recipients was first written to, ascending. */
  readonly firstTimes: ReadonlyArray<number>
  /** Whether the message goes to none of them. */
  readonly isNewRecipient: boolean
  readonly sendCap: QuotaLimit
  /** Null: the number is not paced. */
  readonly pacing: Pacing | null
}

/**
 * When all limits of a number let its first message leave: the send cap, which every number has, and
 * its pacing. Null where they let it leave now.
 */
export const limitedUntil = (
  { firstTimes, isNewRecipient, pacing, sendCap, sentTimes }: LimitFacts,
  now: number,
): number | null => {
  const limits = [sendCap, ...(pacing === null ? [] : sendLimits(pacing))]
  const contacts = pacing === null || !isNewRecipient ? [] : recipientLimits(pacing)
  const moments = [
    ...limits.map((limit) => cappedUntil(sentTimes, now, limit)),
    ...contacts.map((limit) => cappedUntil(firstTimes, now, limit)),
  ].filter((moment) => moment !== null)
  return moments.length === 0 ? null : Math.max(...moments)
}

/** What of a lane decides when it is next due. */
export interface LaneDue {
  readonly nextDue: number | null
  /** The end of the lease of what is in flight; null while nothing is. */
  readonly leaseUntil: number | null
  /** The far side asked for that rest, or it follows a message; null for none. */
  readonly restsUntil: number | null
  /**
   * Until when a claim has found the number's limits to hold its first message back, or an attempt a
   * disk without room for its file.
   */
  readonly limitedUntil: number | null
  /**
   * Until when its first message is held back (see `holdsUntil`): infinite while only an operator can
   * end that; null for none. A removed lane has none.
   */
  readonly heldUntil: number | null
  /** Whether its first message may have left: what arrives then is sent after it. */
  readonly mayHaveLeft: boolean
  readonly removed: boolean
}

/**
 * What happens to a lane. `firstDueAt` is that of the first message that can be handed out: it waits and
 * has not expired, or it may have left.
 */
export type LaneChange =
  | { readonly _tag: "Accepted"; readonly dueAt: number }
  /** Claimed, or its lease renewed. */
  | { readonly _tag: "HandedOut"; readonly leaseUntil: number }
  /** Claimed, and nothing was handed out: it is stopped, its limits are used up, or nothing is due. */
  | {
      readonly _tag: "PassedOver"
      readonly until: number | null
      readonly firstDueAt: number | null
    }
  /** Messages were cancelled or expired. */
  | { readonly _tag: "Ended"; readonly firstDueAt: number | null }
  /** The attempt ended the message, or put it back; the lane rests as that says. */
  | {
      readonly _tag: "Settled"
      readonly now: number
      readonly again: { readonly mayHaveLeft: boolean } | null
      readonly firstDueAt: number | null
    }
  /**
   * Its pause began or ended, its workspace was disabled or enabled, its pacing is another one, or its
   * number connected or dropped out.
   */
  | { readonly _tag: "Changed"; readonly firstDueAt: number | null }
  /** Its number was removed; `mayHaveLeft` of its head. */
  | { readonly _tag: "Removed"; readonly now: number; readonly mayHaveLeft: boolean }

const latest = (moment: number, ...others: ReadonlyArray<number | null>): number =>
  others.reduce<number>((late, other) => Math.max(late, other ?? late), moment)

/** The moment; null for one behind a pause without an end, since it does not come by itself. */
const ifEver = (moment: number): number | null => (Number.isFinite(moment) ? moment : null)

/**
 * When a lane is next due after a change. In flight it is due at the end of its lease, to be handed out
 * again. Once settled it goes to the back of the line, so that every number makes progress. Of a
 * removed number only what may have left is handed out once more.
 */
export const nextDueAfter = (lane: LaneDue, change: LaneChange): number | null => {
  const { leaseUntil, limitedUntil: limited, nextDue, heldUntil: held, restsUntil: rests } = lane
  const first = "firstDueAt" in change ? change.firstDueAt : null
  switch (change._tag) {
    case "Accepted":
      return leaseUntil === null && !lane.mayHaveLeft
        ? ifEver(latest(Math.min(nextDue ?? change.dueAt, change.dueAt), rests, limited, held))
        : nextDue
    case "HandedOut":
      return change.leaseUntil
    case "PassedOver":
      return change.until === null ? first : ifEver(change.until)
    case "Ended": {
      if (leaseUntil !== null || lane.removed) return nextDue
      if (first === null) return null
      // What held the first message back need not hold the one that comes first now.
      return ifEver(latest(first, limited === null ? nextDue : null, rests, held))
    }
    case "Settled": {
      const { again, now } = change
      if (lane.removed && again?.mayHaveLeft !== true) return null
      if (again !== null) return ifEver(latest(now, rests, limited, held))
      return first === null ? null : ifEver(latest(first, now, rests, held))
    }
    case "Changed":
      if (leaseUntil !== null || lane.removed) return nextDue
      return first === null ? null : ifEver(latest(first, rests, held))
    case "Removed":
      if (leaseUntil !== null) return leaseUntil
      return change.mayHaveLeft ? latest(change.now, rests) : null
  }
}
