/**
 * The port of the lanes: one for each number, whose waiting live messages leave one at a time, in
 * the order in which they fell due (then by id), and only while the number is connected.
 *
 * A claim hands out the head of a free lane together with a lease: a number that grows with every
 * claim of that lane. Only the holder of the present lease may settle. When a lease runs out its
 * message is handed out again, as an interrupted attempt, before anything else of that lane.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MessageId, NumberId } from "../Ids.ts"
import type { LeaseClaim, Shares } from "../limit/Held.ts"
import type { Message } from "../message/Message.ts"
import type { MessageChange } from "../message/MessageChange.ts"
import type { QuotaLimit } from "../message/Quota.ts"
import type { Pause, Pauses, Strikes } from "../number/Breaker.ts"
import type { Pacing } from "../number/Pacing.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import type { Owned } from "../transport/Shards.ts"

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
  readonly strikes: Strikes
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
  readonly breaker: { readonly strikes: Strikes; readonly pause: Pause | null } | null
  /**
   * The disk had no room for the file of the message, which holds it back; null otherwise. It need not
   * hold back what comes first once that message is cancelled or has expired.
   */
  readonly noRoom: RoomRest | null
}

export interface RoomRest {
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
  readonly heldUp: ReadonlyArray<Settlement>
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
