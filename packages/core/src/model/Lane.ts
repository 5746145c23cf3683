/**
 * Lanes: one queue for each number, from which waiting live messages leave one at a time. Pure
 * rules decide what is in flight, what a claim may hand out, whether a turn continues and when a lane
 * is next due. The port at the end stores lanes. Both stores keep the rules: docs/rules.md lists where.
 */
import type { Effect } from "effect"
import type { StoreUnavailable } from "./Refusal.ts"
import type { MessageChange } from "./MessageChange.ts"
import type { EventId, MessageId, NumberId, NumberEventIds } from "./Ids.ts"
import type { LeaseClaim, Shares } from "./Bulkhead.ts"
import { hasExpired } from "./Message.ts"
import type { Message, QuotaLimit } from "./Message.ts"
import { recipientLimits, sendLimits } from "./Pacing.ts"
import type { Pacing } from "./Pacing.ts"
import type { Pause, Pauses, SendingNumber, ConsecutiveFailures } from "./SendingNumber.ts"
import type { Owned } from "./Shards.ts"

/** How long a lane stays claimed after its worker died, in service time. */
export const laneLeaseMillis = 30_000

/** Whether a lease lasts; after its end any worker may claim again. */
export const isLeased = (leaseUntil: number | null, now: number): boolean =>
  leaseUntil !== null && leaseUntil > now

/** The lease of something that is claimed. */
interface Claimed {
  /** Of the latest claim; grows with each claim. */
  readonly lease: number
  /** Null while unclaimed. */
  readonly leaseUntil: number | null
}

/**
 * Whether this lease is the latest, so that its holder may settle or renew. An expired lease
 * qualifies until another worker claims.
 */
export const holdsLease = (claimed: Claimed, lease: number): boolean =>
  claimed.leaseUntil !== null && claimed.lease === lease

/** The attempts at one message so far. */
interface Attempts {
  readonly leased: boolean
  /** Attempts that began and never settled. */
  readonly interruptions: number
}

/** Whether the message may have left: an interrupted attempt has an unknown outcome. */
export const isOutcomeUnknown = ({ interruptions }: Pick<Attempts, "interruptions">): boolean =>
  interruptions > 0

/**
 * Whether a transport may have this waiting message: a lease hands it out, or an interrupted
 * attempt may have sent it. It can neither be cancelled nor expire; only another attempt, or giving
 * up, settles it.
 */
export const isInFlight = (attempts: Attempts): boolean =>
  attempts.leased || isOutcomeUnknown(attempts)

/**
 * Whether a claim may hand the message out. The sweep ends expired ones, unless they may have left.
 */
export const mayBeHandedOut = (
  message: Pick<Message, "expiresAt">,
  attempts: Pick<Attempts, "interruptions">,
  now: number,
): boolean => isOutcomeUnknown(attempts) || !hasExpired(message, now)

/** What decides whether a number's work continues. */
export interface Standing {
  readonly connected: boolean
  readonly removed: boolean
}

/**
 * Whether a number's work continues: it is connected, or it was removed and open attempts must
 * settle.
 */
export const isOpen = ({ connected, removed }: Standing): boolean => connected || removed

/**
 * Whether a lane can be claimed. Without a connection it can while its first message may have left,
 * to settle that message once it expires.
 */
export const isClaimable = (lane: Standing, first: Attempts | null): boolean =>
  isOpen(lane) || (first !== null && isInFlight(first))

/**
 * Until when a lane hands out nothing: without end (infinite) while its workspace is disabled, else
 * until its pause ends. Null: nothing stops it.
 */
export const stoppedUntil = (pausedUntil: number | null, isDisabled: boolean): number | null =>
  isDisabled ? Infinity : pausedUntil

/**
 * Until when a lane's first message is held: while the lane is stopped (see `stoppedUntil`), or, if
 * it may have left, while its number is disconnected. A message that may have left is settled once
 * it expires, since that needs no transport.
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

/** What of a claimed lane decides how many messages its turn may have. */
interface TurnFacts {
  readonly removed: boolean
  readonly pacing: Pacing | null
  /** Its first message may have left. */
  readonly mayHaveLeft: boolean
  /** How many more messages its limits let leave. */
  readonly room: number
}

/** The most messages of a turn. Only a lane that nothing holds back has more than one. */
export const turnSize = (max: number, { mayHaveLeft, pacing, removed, room }: TurnFacts): number =>
  pacing !== null || removed || mayHaveLeft ? 1 : Math.max(1, Math.min(max, room))

/** What of a lane decides whether its turn continues. */
interface TurnState extends Standing {
  readonly leaseUntil: number | null
  /** Until when the lane hands out nothing (see `stoppedUntil`). */
  readonly stoppedUntil: number | null
  readonly pacing: Pacing | null
  readonly diskFailuresInARow: number
  /** Something changed the order of the turn, or the number's connection. */
  readonly isCut: boolean
}

/**
 * Whether the worker may send the next message of its turn without another claim: since the claim nothing
 * happened to the lane that a claim would look at.
 */
export const goesOn = (lane: TurnState, now: number): boolean =>
  lane.connected &&
  !lane.removed &&
  !lane.isCut &&
  lane.pacing === null &&
  lane.diskFailuresInARow === 0 &&
  isLeased(lane.leaseUntil, now) &&
  (lane.stoppedUntil === null || lane.stoppedUntil <= now)

/** Whether a message accepted for that time comes before the last of a turn, which was due then. */
export const cutsTurn = (lastDueAt: number, dueAt: number): boolean => dueAt < lastDueAt

/** Whether a moment lies in the window that ends now. */
export const isInWindow = (instant: number, now: number, windowMillis: number): boolean =>
  instant > now - windowMillis && instant <= now

/** How many of the ascending times are at or before the moment. */
const countUntil = (times: ReadonlyArray<number>, instant: number): number => {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((times[middle] ?? instant) <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * When a window has room for one more: one window after the oldest time that still fills it. Null
 * when it has room now. `times` ascend; times after `now` do not count.
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

/** How many more the window has room for. `times` ascend; times after `now` do not count. */
export const roomIn = (
  times: ReadonlyArray<number>,
  now: number,
  { messages, windowMillis }: QuotaLimit,
): number => messages - countUntil(times, now) + countUntil(times, now - windowMillis)

/** What decides whether the number's limits let its first message leave. */
interface LimitFacts {
  /** When its messages were sent, ascending. */
  readonly sentTimes: ReadonlyArray<number>
  /** When it first wrote to each recipient, ascending. */
  readonly firstTimes: ReadonlyArray<number>
  /** Whether the message goes to none of these recipients. */
  readonly isNewRecipient: boolean
  readonly dailyLimit: QuotaLimit
  /** Null: the number is not paced. */
  readonly pacing: Pacing | null
}

/** When every limit of a number (daily limit and pacing) lets its first message leave. Null: now. */
export const limitedUntil = (
  { firstTimes, isNewRecipient, pacing, dailyLimit, sentTimes }: LimitFacts,
  now: number,
): number | null => {
  const limits = [dailyLimit, ...(pacing === null ? [] : sendLimits(pacing))]
  const contacts = pacing === null || !isNewRecipient ? [] : recipientLimits(pacing)
  const instants = [
    ...limits.map((limit) => cappedUntil(sentTimes, now, limit)),
    ...contacts.map((limit) => cappedUntil(firstTimes, now, limit)),
  ].filter((instant) => instant !== null)
  return instants.length === 0 ? null : Math.max(...instants)
}

/** What decides when a lane is next due. */
export interface LaneDue {
  readonly nextDue: number | null
  /** The end of the lease in flight; null without one. */
  readonly leaseUntil: number | null
  /** The rest after a message or on the remote's request; null for none. */
  readonly pacedUntil: number | null
  /**
   * Rate-limited until this time, as of the last claim; also set when the disk had no room for a
   * file.
   */
  readonly limitedUntil: number | null
  /**
   * Until when its first message is held (see `holdsUntil`). Infinite when only an operator can end
   * that; null for none. Removed lanes have none.
   */
  readonly heldUntil: number | null
  /** Whether its first message may have left: later messages then follow it. */
  readonly mayHaveLeft: boolean
  readonly removed: boolean
}

/** What happens to a lane. `firstDueAt` belongs to the first message that can be handed out. */
export type LaneChange =
  | { readonly _tag: "Accepted"; readonly dueAt: number }
  /** Claimed, or its lease renewed. */
  | { readonly _tag: "HandedOut"; readonly leaseUntil: number }
  /** Claimed without handing anything out: stopped, rate-limited or nothing due. */
  | {
      readonly _tag: "PassedOver"
      readonly until: number | null
      readonly firstDueAt: number | null
    }
  /** Messages were cancelled or expired. */
  | { readonly _tag: "Ended"; readonly firstDueAt: number | null }
  /** The attempt ended the message or put it back; the lane rests accordingly. */
  | {
      readonly _tag: "Settled"
      readonly now: number
      readonly again: { readonly mayHaveLeft: boolean } | null
      readonly firstDueAt: number | null
    }
  /** Its pause, workspace, pacing or connection changed. */
  | { readonly _tag: "Changed"; readonly firstDueAt: number | null }
  /** Its number was removed; `mayHaveLeft` describes its first message. */
  | { readonly _tag: "Removed"; readonly now: number; readonly mayHaveLeft: boolean }

const latest = (instant: number, ...others: ReadonlyArray<number | null>): number =>
  others.reduce<number>((late, other) => Math.max(late, other ?? late), instant)

/** Null for an infinite moment, which never comes by itself. */
const ifEver = (instant: number): number | null => (Number.isFinite(instant) ? instant : null)

/**
 * When a lane is next due after a change. In flight, at the end of its lease, to be handed out
 * again. Once settled it joins the back of the line, so that every number progresses. A removed
 * number hands out only what may have left.
 */
export const nextDueAfter = (lane: LaneDue, change: LaneChange): number | null => {
  const { leaseUntil, limitedUntil: limited, nextDue, heldUntil: held, pacedUntil: rests } = lane
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
      // What held the old first message need not hold the new one.
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

// The port of the lanes. Messages leave in the order of their due times (then ids), and only while
// the number is connected.
// A claim hands out the head of a free lane with a lease: a number that grows with every claim of
// that lane. Only the holder of the latest lease may settle. When a lease ends, the message is
// handed out again as an interrupted attempt, before the rest of its lane.
// With the head a claim may hand out what is due behind it: the turn. In flight is one at a time, the first
// of the turn that still waits. The others can be cancelled and expire, and leave the turn with that.

export interface ClaimQuery extends LeaseClaim, Shares {
  /** The most messages of one turn (see `turnSize`). */
  readonly turn: number
  /** Lanes that were due before are passed over; null: none. */
  readonly dueSince: number | null
  /** The numbers that this worker may send from. */
  readonly owned: Owned
  /**
   * Bounds every number in addition to its own pacing. A lane at its limit is passed over until
   * there is room (see `limitedUntil`).
   */
  readonly dailyLimit: QuotaLimit
}

/** What operators set for a lane, and what refusals led to. */
export interface LaneControl {
  /** Null: the number is not paced. */
  readonly pacing: Pacing | null
  readonly failures: ConsecutiveFailures
  /** Pauses not resumed; an ended one may still be listed, without effect. */
  readonly pauses: Pauses
}

export interface ClaimedMessage extends Pick<LaneControl, "pacing" | "failures"> {
  readonly message: Message
  /** The rest of its turn, in order. Nothing of it may be sent before a settlement names it. */
  readonly rest: ReadonlyArray<Message>
  /** Since when its lane was due. */
  readonly dueSince: number
  readonly number: SendingNumber
  /** Number or workspace removed: nothing may be sent any more. */
  readonly removed: boolean
  readonly lease: number
  /** Attempts of this message that began and never settled. */
  readonly interruptions: number
  /** The number's latest consecutive attempts without room on the disk, or without the file. */
  readonly diskFailuresInARow: number
}

/** Why an attempt did not end its message. */
export type UnfinishedAttempt =
  /** The remote asked for a pause, or something that the attempt needs was unavailable. */
  | "postponed"
  | "not_connected"
  /** The disk had no room for the message's file. */
  | "no_room"
  /** The disk did not give the message's file. */
  | "no_file"
  /** The remote refused a new recipient while new chats are closed. Once for each message. */
  | "new_chats_closed"
  /** The attempt was interrupted: the message may have left, so it counts (see `isOutcomeUnknown`). */
  | "interrupted"

/** What an attempt changes in its lane, whatever happened to the message. */
export interface LaneUpdate {
  /** Nothing leaves the lane earlier; null: no wait. */
  readonly notBefore: number | null
  /** The number's consecutive failures and the pause they cause; null when unchanged. */
  readonly breaker: {
    readonly failures: ConsecutiveFailures
    readonly pause: Pause | null
    /** See `NumberStore.setStatus`. */
    readonly events?: NumberEventIds
  } | null
  /**
   * The disk had no room for the message's file, or did not give it, so the lane rests; null
   * otherwise. The rest ends when that message is cancelled or expires.
   */
  readonly diskRest: DiskRest | null
  /** The worker gives the lane back, although its turn may not be over. */
  readonly endsTurn: boolean
}

interface DiskRest {
  readonly until: number
  /** How often in a row, this attempt included. */
  readonly inARow: number
}

export const unchangedLane: LaneUpdate = {
  notBefore: null,
  breaker: null,
  diskRest: null,
  endsTurn: false,
}

/** The first and the longest rest of a number while the disk lacks room or the file. Milliseconds. */
const firstDiskRest = 1000
const longestDiskRest = 300_000

/** The rest after that many consecutive attempts without room on the disk. */
export const diskRestAfter = (inARow: number, now: number): DiskRest => ({
  until: now + Math.min(firstDiskRest * 2 ** (inARow - 1), longestDiskRest),
  inARow,
})

export type Settlement = LaneUpdate & {
  readonly numberId: NumberId
  readonly lease: number
} & (
    | {
        readonly _tag: "Ended"
        readonly change: MessageChange
      }
    | {
        /** The message stays at the head of its lane. */
        readonly _tag: "Again"
        readonly messageId: MessageId
        /**
         * Why the attempt did not end the message; null when none was made. With `new_chats_closed` it is set aside
         * if new chats are still closed.
         */
        readonly unfinished: UnfinishedAttempt | null
      }
  )

/** Whether a settlement changes nothing of its lane: only then its turn may go on (see `goesOn`). */
export const leavesLane = (settlement: Settlement): boolean =>
  settlement._tag === "Ended" &&
  !settlement.change.refunds &&
  !settlement.endsTurn &&
  settlement.notBefore === null &&
  settlement.breaker === null &&
  settlement.diskRest === null

/** A message that a settlement put in flight. */
export interface NextOfTurn {
  readonly messageId: MessageId
  /** When the lease ends under which it may be sent. */
  readonly leaseUntil: number
}

/** Outcome of settlements. One in neither list was passed over: its lease is lost. */
export interface SettledLanes {
  readonly settled: ReadonlySet<MessageId>
  /** By the settled message, what is in flight in its place. Without an entry the lane was given back. */
  readonly next: ReadonlyMap<MessageId, NextOfTurn>
  /** Whether a lane that was given back will be due by itself. */
  readonly comesAgain: boolean
  /** To be settled later. */
  readonly blockedByLock: ReadonlyArray<Settlement>
}

export interface LaneQueue {
  /**
   * Claims free lanes that are due, the longest waiting first, a turn each, within each
   * workspace's share. If a message's lease ended unsettled, it comes first, even when it expired or
   * its number was removed. The sweep ends other expired messages.
   *
   * Paused lanes and those of disabled workspaces are passed over; what was in flight in them
   * counts as interrupted. Only an expired message that may have left is still handed out, to be
   * settled.
   *
   * Where new chats are closed (see `newChatsUntil`), what is due to new recipients is set aside, at most
   * `mostSetAside` messages; a lane with more to set aside stays due and is handed out by a later claim.
   */
  claim(query: ClaimQuery): Effect.Effect<ReadonlyArray<ClaimedMessage>, StoreUnavailable>
  /**
   * Renews leases that are still the lane's latest, including expired ones. Returns the numbers that keep their lease.
   */
  renew(
    leases: ReadonlyArray<{ readonly numberId: NumberId; readonly lease: number }>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlySet<NumberId>, StoreUnavailable>
  /**
   * Settles attempts if their lease is still the lane's latest. One commit writes state, event,
   * refund and the lane's next due time. If pacing limits new recipients, a sent message's
   * recipient stops being new. A lane with more to send joins the back of the line, unless its turn
   * continues: then nothing of the lane is written, and the next message of the turn is in flight. A
   * settlement that comes once more, because its answer was lost, gets that answer. A settlement
   * that another transaction blocks, such as a caller's own, is left for later; the others
   * settle.
   */
  settle(
    settlements: ReadonlyArray<Settlement>,
    now: number,
  ): Effect.Effect<SettledLanes, StoreUnavailable>
  /**
   * Adds a pause to a lane (see `pausesAfter`). In-flight attempts continue. False when the
   * number is unknown or removed. `events`: see `NumberStore.setStatus`.
   */
  pause(
    numberId: NumberId,
    pause: Pause,
    now: number,
    events?: NumberEventIds,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Ends every pause of a lane, and reconnects its number if it was given up (see
   * `abandonedReasons`). False when the number is unknown or removed.
   */
  resume(
    numberId: NumberId,
    now: number,
    events?: NumberEventIds,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Reports pauses that ended by themselves by `now`, the earliest first, where conversations are on:
   * one for each id at most. Returns how many it reported.
   */
  reportEndedPauses(
    now: number,
    eventIds: ReadonlyArray<EventId>,
  ): Effect.Effect<number, StoreUnavailable>
  /** Releases what waits for new chats in lanes once their wait is over, `limit` at most. Returns how many lanes. */
  openNewChats(now: number, limit: number): Effect.Effect<number, StoreUnavailable>
  /**
   * Whether a message that the remote refused as one to a new recipient waits for new chats: they are closed for
   * its number, its workspace lets it wait, and it has not come back for that before.
   */
  mayAwaitNewChats(
    numberId: NumberId,
    messageId: MessageId,
    now: number,
  ): Effect.Effect<boolean, StoreUnavailable>
}
