/**
 * The rules of a lane: what is in the hands of a transport, what may be handed out, and when. Both
 * stores keep to them: docs/rules.md lists where.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { MessageChange } from "../event/MessageChange.ts"
import type { MessageId, NumberId } from "../Ids.ts"
import type { LeaseClaim, Shares } from "../limit/Bulkhead.ts"
import { hasExpired } from "../message/Message.ts"
import type { Message, QuotaLimit } from "../message/Message.ts"
import { recipientLimits, sendLimits } from "../number/Pacing.ts"
import type { Pacing } from "../number/Pacing.ts"
import type { Pause, Pauses, SendingNumber, ConsecutiveFailures } from "../number/SendingNumber.ts"
import type { Owned } from "../transport/Shards.ts"

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
interface Attempts {
  /** Whether a lease hands it out. */
  readonly leased: boolean
  /** Attempts that were begun and never settled. */
  readonly interruptions: number
}

/** Whether the message may have left: an attempt was interrupted, and its outcome is not known. */
export const isOutcomeUnknown = ({ interruptions }: Pick<Attempts, "interruptions">): boolean =>
  interruptions > 0

/**
 * Whether a waiting message is in the hands of a transport: while a lease hands it out, and after that
 * as long as it may have left. It can then neither be cancelled nor expire; only another attempt, or
 * giving up, settles it.
 */
export const isInFlight = (attempts: Attempts): boolean =>
  attempts.leased || isOutcomeUnknown(attempts)

/** Whether a claim may hand the message out: one that has expired is left to the sweep unless it may have left. */
export const mayBeHandedOut = (
  message: Pick<Message, "expiresAt">,
  attempts: Pick<Attempts, "interruptions">,
  now: number,
): boolean => isOutcomeUnknown(attempts) || !hasExpired(message, now)

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
  isOpen(lane) || (first !== null && isInFlight(first))

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
  if (first === null || !isOutcomeUnknown(first)) return stopped
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
interface LimitFacts {
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

// The port of the lanes: one for each number, whose waiting live messages leave one at a time, in
// the order in which they fell due (then by id), and only while the number is connected.
// A claim hands out the head of a free lane together with a lease: a number that grows with every
// claim of that lane. Only the holder of the present lease may settle. When a lease runs out its
// message is handed out again, as an interrupted attempt, before anything else of that lane.

export interface ClaimQuery extends LeaseClaim, Shares {
  /** From which numbers this worker may send. */
  readonly owned: Owned
  /**
   * What every number may send in a window, beside its own pacing: a lane whose limits are used up is
   * passed over, its messages still waiting, until there is room (see `limitedUntil`).
   */
  readonly sendCap: QuotaLimit
}

/** What operators have set for a lane, and what refusals have led to. */
export interface LaneControl {
  /** Null: the number is not paced. */
  readonly pacing: Pacing | null
  readonly strikes: ConsecutiveFailures
  /** Those that were not resumed; a pause that is over may still be among them, and holds nothing. */
  readonly pauses: Pauses
}

export interface ClaimedMessage extends Pick<LaneControl, "pacing" | "strikes"> {
  readonly message: Message
  readonly number: SendingNumber
  /** Removed, or its workspace deleted: nothing may be sent any more. */
  readonly removed: boolean
  readonly lease: number
  /** Earlier attempts of this message that were interrupted: begun and never settled. */
  readonly interruptions: number
  /** The latest attempts of its number, in a row, for which the disk had no room. */
  readonly noRoomInARow: number
}

/** What an attempt leaves behind in its lane, whatever became of the message. */
export interface Aftermath {
  /** Nothing leaves the lane before; null: at once. */
  readonly notBefore: number | null
  /** What the number's strikes are now, and whether that pauses it; null where nothing changed. */
  readonly breaker: { readonly strikes: ConsecutiveFailures; readonly pause: Pause | null } | null
  /**
   * The disk had no room for the file of the message, which holds it back; null otherwise. It need not
   * hold back what comes first once that message is cancelled or has expired.
   */
  readonly noRoom: RoomRest | null
}

interface RoomRest {
  readonly until: number
  /** How often in a row, this attempt included. */
  readonly inARow: number
}

export const noAftermath: Aftermath = { notBefore: null, breaker: null, noRoom: null }

/** The first rest of a number for want of room on the disk, and the longest. Milliseconds. */
const firstRoomRest = 1000
const longestRoomRest = 300_000

/** How long a number rests after so many attempts in a row for which the disk had no room. */
export const roomRestAfter = (inARow: number, now: number): RoomRest => ({
  until: now + Math.min(firstRoomRest * 2 ** (inARow - 1), longestRoomRest),
  inARow,
})

export type Settlement = Aftermath & {
  readonly numberId: NumberId
  readonly lease: number
} & (
    | {
        /** The attempt ended the message. */
        readonly _tag: "Ended"
        readonly change: MessageChange
      }
    | {
        /**
         * The message goes on waiting at the head of its lane. `interrupted`: it cannot be known
         * whether the attempt left, so it counts as one.
         */
        readonly _tag: "Again"
        readonly messageId: MessageId
        readonly interrupted: boolean
      }
  )

/** What became of settlements; one that is in neither was passed over, since its lease is lost. */
export interface SettledLanes {
  /** The messages that were settled. */
  readonly settled: ReadonlySet<MessageId>
  /** Those to be settled later. */
  readonly blockedByLock: ReadonlyArray<Settlement>
}

export class LaneQueue extends Context.Service<
  LaneQueue,
  {
    /**
     * Claims free lanes that are due, the longest waiting first, one message each, and of no
     * workspace more than the worker may hold. An unsettled
     * message whose lease ran out comes first, also when it expired meanwhile or its number was
     * removed. Other messages that have expired are left to the expiry sweep. A lane that is
     * paused, or whose workspace is disabled, is passed over; what was in flight in it counts as interrupted. Only what may have left and has
     * expired is handed out all the same, to be concluded.
     */
    claim(query: ClaimQuery): Effect.Effect<ReadonlyArray<ClaimedMessage>, StoreUnavailable>
    /**
     * Prolongs leases that are still the lane's, also ones that ran out but were not taken over;
     * the others are left alone. Returns the numbers whose lease goes on.
     */
    renew(
      leases: ReadonlyArray<{ readonly numberId: NumberId; readonly lease: number }>,
      leaseUntil: number,
    ): Effect.Effect<ReadonlySet<NumberId>, StoreUnavailable>
    /**
     * Settles attempts, each only if its lease is still the lane's; the message's state, its event,
     * what it gives back and the lane's next due moment in one commit. If the number's pacing limits
     * new recipients at that time, the recipient of what was sent is no new one from then on. A lane
     * with more to send goes to the back of the line, so that every number makes progress. What
     * another transaction holds up for long, such as a caller's own, is left for later: the others are
     * settled.
     */
    settle(
      settlements: ReadonlyArray<Settlement>,
      now: number,
    ): Effect.Effect<SettledLanes, StoreUnavailable>
    /**
     * Pauses a lane, beside what pauses it already (see `pausesAfter`). What is in the hands of a
     * transport is not called back. False when the number is unknown or removed.
     */
    pause(numberId: NumberId, pause: Pause, now: number): Effect.Effect<boolean, StoreUnavailable>
    /**
     * Ends every pause of a lane; and where its number was given up (see `givenUpReasons`), that is so no
     * more: it is to be connected again. False when the number is unknown or removed.
     */
    resume(numberId: NumberId, now: number): Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/LaneQueue") {}
