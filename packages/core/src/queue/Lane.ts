/**
 * The rules of a lane: what is in the hands of a transport, what may be handed out, and when. Both
 * stores keep to them: docs/rules.md lists where.
 */
import { hasExpired } from "../message/Message.ts"
import type { Message } from "../message/Message.ts"
import type { QuotaLimit } from "../message/Quota.ts"

/** How long a lane stays claimed after its holder died, in service time. */
export const laneLeaseMillis = 30_000

/** Whether a lease lasts; once it has ended, any worker may claim again what it was for. */
export const isLeased = (leaseUntil: number | null, now: number): boolean =>
  leaseUntil !== null && leaseUntil > now

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

/** Whether an expired message is left to the expiry sweep: not while it may have left. */
export const mayBeHandedOut = (
  message: Pick<Message, "expiresAt">,
  attempts: Pick<Attempts, "interruptions">,
  now: number,
): boolean => mayHaveLeft(attempts) || !hasExpired(message, now)

/**
 * Whether a lane can be claimed at all: while its number is connected; and once the number is
 * removed, to settle what may have left.
 */
export const isClaimable = (lane: {
  readonly connected: boolean
  readonly removed: boolean
}): boolean => lane.connected || lane.removed

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
 * When a lane that has sent its fill may send again: as soon as the oldest send leaves the window that
 * ends now. Null where there is room. `sentTimes` are ascending.
 */
export const cappedUntil = (
  sentTimes: ReadonlyArray<number>,
  now: number,
  { messages, windowMillis }: QuotaLimit,
): number | null => {
  const gone = countUntil(sentTimes, now - windowMillis)
  const oldest = sentTimes[gone]
  return oldest === undefined || countUntil(sentTimes, now) - gone < messages
    ? null
    : oldest + windowMillis
}

/** What of a lane decides when it is next due. */
export interface LaneDue {
  readonly nextDue: number | null
  /** The end of the lease of what is in flight; null while nothing is. */
  readonly leaseUntil: number | null
  /** It is not claimed before, whatever falls due; null for no rest. */
  readonly restsUntil: number | null
  readonly removed: boolean
}

/** What happens to a lane. `firstDueAt` is that of the first message that waits and has not expired. */
export type LaneChange =
  | { readonly _tag: "Accepted"; readonly dueAt: number }
  /** Claimed, or its lease renewed. */
  | { readonly _tag: "HandedOut"; readonly leaseUntil: number }
  /** Claimed, and nothing was handed out: it has sent its fill, or nothing is due. */
  | {
      readonly _tag: "PassedOver"
      readonly restsUntil: number | null
      readonly firstDueAt: number | null
    }
  /** Messages were cancelled or expired. */
  | { readonly _tag: "Ended"; readonly firstDueAt: number | null }
  /** The attempt ended the message, or put it back: `again`, not before that moment. */
  | {
      readonly _tag: "Settled"
      readonly now: number
      readonly again: { readonly notBefore: number | null; readonly mayHaveLeft: boolean } | null
      readonly firstDueAt: number | null
    }
  /** Its number was removed; `mayHaveLeft` of its head. */
  | { readonly _tag: "Removed"; readonly now: number; readonly mayHaveLeft: boolean }

const latest = (moment: number, ...others: ReadonlyArray<number | null>): number =>
  others.reduce<number>((late, other) => Math.max(late, other ?? late), moment)

/**
 * When a lane is next due after a change. In flight it is due at the end of its lease, to be handed out
 * again. Once settled it goes to the back of the line, so that every number makes progress. Of a
 * removed number only what may have left is handed out once more.
 */
export const nextDueAfter = (lane: LaneDue, change: LaneChange): number | null => {
  switch (change._tag) {
    case "Accepted":
      return lane.leaseUntil === null
        ? latest(Math.min(lane.nextDue ?? change.dueAt, change.dueAt), lane.restsUntil)
        : lane.nextDue
    case "HandedOut":
      return change.leaseUntil
    case "PassedOver":
      return change.restsUntil ?? change.firstDueAt
    case "Ended":
      if (lane.leaseUntil !== null || lane.removed) return lane.nextDue
      return change.firstDueAt === null ? null : latest(change.firstDueAt, lane.nextDue)
    case "Settled": {
      const { again, firstDueAt, now } = change
      if (lane.removed && again?.mayHaveLeft !== true) return null
      if (again !== null) return latest(now, again.notBefore)
      return firstDueAt === null ? null : latest(firstDueAt, now)
    }
    case "Removed":
      if (lane.leaseUntil !== null) return lane.leaseUntil
      return change.mayHaveLeft ? latest(change.now, lane.restsUntil) : null
  }
}
