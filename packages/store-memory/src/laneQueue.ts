/** `LaneQueue` in memory: which lane has its turn, and who may settle it. */
import {
  abandonedReasons,
  holdsLease,
  isOwned,
  leavesLane,
  mayBeHandedOut,
  isOutcomeUnknown,
  noPauses,
  pausedUntil,
  pausesAfter,
  pausesOnceLinked,
  reasonOnceResumed,
  restricts,
  roomIn,
  takeFairShares,
  turnSize,
  waitsForNewChats,
} from "@messaging-service/core"
import type {
  ClaimedMessage,
  ClaimQuery,
  LaneControl,
  LaneQueue,
  MessageId,
  NextOfTurn,
  NumberEventIds,
  NumberId,
  Pause,
  Settlement,
} from "@messaging-service/core"
import type { Steps } from "./collections.ts"
import {
  applyChange,
  endingPauses,
  findLimits,
  finish,
  firstDueAt,
  firstToLeave,
  heldUntil,
  interrupted,
  leaveUnfinished,
  nextOfTurn,
  release,
  reportPause,
  take,
  withdraw,
} from "./lanes.ts"
import { readyLanes, releaseNewChats, returnAside, setNewChats, toPhone } from "./newChats.ts"
import { findLane, checkCampaigns, toMessage, wakeCampaigns } from "./tables.ts"
import type { Lane, MessageRow, Tables } from "./tables.ts"

/** A lane's next message; or when one may come, and how much of that wait is its limits'. */
type Offer =
  | { readonly row: MessageRow }
  | { readonly row: null; readonly until: number | null; readonly limited: number | null }

const nothing: Offer = { row: null, until: null, limited: null }

/** What a claim of this lane would hand out; changes nothing. */
const makeOffer = (lane: Lane, query: ClaimQuery): Offer => {
  const { now, dailyLimit } = query
  const paused = heldUntil(lane, pausedUntil(lane.control.pauses.first, now))
  if (paused !== null && paused > now) return { ...nothing, until: paused }
  if (lane.inFlight !== null) return { row: lane.inFlight.row }
  const row = firstToLeave(lane, now)
  if (row === null || (row !== lane.inDoubt && row.message.dueAt > now)) return nothing
  const limited = findLimits(lane, row, now, dailyLimit)
  return limited === null ? { row } : { row: null, until: limited, limited }
}

/** What is due behind the message that a claim hands out, as far as it is of the same turn. */
const getRest = (lane: Lane, row: MessageRow, query: ClaimQuery): ReadonlyArray<MessageRow> => {
  const { now, dailyLimit } = query
  const max = turnSize(query.turn, {
    removed: lane.removed,
    pacing: lane.control.pacing,
    mayHaveLeft: lane.inFlight !== null || isOutcomeUnknown(row),
    room: roomIn(lane.sentTimes, now, dailyLimit),
  })
  const rest: Array<MessageRow> = []
  for (const each of lane.waiting) {
    if (rest.length + 1 >= max || each.message.dueAt > now) break
    if (each !== row && mayBeHandedOut(each.message, each, now)) rest.push(each)
  }
  return rest
}

/** The claimable lanes, the longest due first. */
function* dueLanes(tables: Tables, { dueSince, now, owned }: ClaimQuery): Generator<Lane> {
  for (const { at, lane } of tables.agenda) {
    if (at > now) return
    if (dueSince !== null && at < dueSince) continue
    if (tables.heldByCallers.has(lane)) continue
    if (isOwned(lane.number.id, owned)) yield lane
  }
}

const claimLanes = (tables: Tables, query: ClaimQuery): ReadonlyArray<ClaimedMessage> => {
  const due = takeFairShares(
    dueLanes(tables, query),
    (lane) => lane.number.workspaceId,
    query,
    query.limit,
  )
  const lanes = readyLanes(tables, due, query)
  const offers = lanes.map((lane) => [lane, makeOffer(lane, query)] as const)

  const claimed: Array<ClaimedMessage> = []
  for (const [lane, offered] of offers) {
    lane.limitedUntil = offered.row === null ? offered.limited : null
    if (lane.limitedUntil !== null) lane.diskFailuresInARow = 0
    if (offered.row === null) {
      const { inFlight } = lane
      if (inFlight !== null) {
        // Its worker died, and the pause began before another could take it up.
        interrupted(inFlight.row, query.now)
        lane.inFlight = null
        tables.inFlight.delete(lane.number.id)
      }
      const { until } = offered
      applyChange(tables, lane, {
        _tag: "PassedOver",
        until,
        firstDueAt: firstDueAt(lane, query.now),
      })
      continue
    }
    const { row } = offered
    const rest = getRest(lane, row, query)
    const dueSince = lane.nextDue ?? query.now
    // Begun before, and never settled.
    if (lane.inFlight !== null) interrupted(row, query.now)
    take(tables, row, rest, query.leaseUntil)
    claimed.push({
      message: toMessage(row),
      rest: rest.map(toMessage),
      dueSince,
      number: lane.number,
      removed: lane.removed,
      lease: lane.lease,
      interruptions: row.interruptions,
      diskFailuresInARow: lane.diskFailuresInARow,
      pacing: lane.control.pacing,
      failures: lane.control.failures,
    })
  }
  return claimed
}

/** The lane, if it has a message in flight under this lease. */
const heldLane = (tables: Tables, numberId: NumberId, lease: number): Lane | undefined => {
  const lane = tables.lanes.get(numberId)
  if (lane === undefined) return undefined
  const leaseUntil = lane.inFlight?.leaseUntil ?? null
  return holdsLease({ lease: lane.lease, leaseUntil }, lease) ? lane : undefined
}

/** Campaigns that may use the number look at its pause. */
const notePause = (lane: Lane, pause: Pause, now: number): void => {
  if (restricts(pause)) lane.restrictedAt = now
  checkCampaigns(lane.workspace, now)
}

/** What a settlement left behind. */
interface SettledOne {
  readonly id: MessageId
  readonly next: NextOfTurn | null
  readonly comesAgain: boolean
}

/** Settles one attempt; undefined when the lease is no longer the lane's. */
const settleOne = (tables: Tables, settlement: Settlement, now: number): SettledOne | undefined => {
  const { numberId, lease } = settlement
  const lane = heldLane(tables, numberId, lease)
  const inFlight = lane?.inFlight ?? null
  if (lane === undefined || inFlight === null) return undefined
  const id = settlement._tag === "Ended" ? settlement.change.message.id : settlement.messageId
  const row = inFlight.turn.find(({ message }) => message.id === id)
  if (row === undefined) return undefined
  const goOn = (next: MessageRow): SettledOne => ({
    id,
    next: { messageId: next.message.id, leaseUntil: inFlight.leaseUntil },
    comesAgain: false,
  })
  if (row !== inFlight.row) {
    // Its answer was lost.
    return row.endedAt !== null && settlement._tag === "Ended" ? goOn(inFlight.row) : undefined
  }
  const { breaker, diskRest, notBefore } = settlement
  if (settlement._tag === "Ended") {
    finish(tables, row, settlement.change)
    const phone = row.message.sentAt === null ? null : toPhone(row)
    if (phone !== null) releaseNewChats(tables, lane, new Set([phone]), now)
  } else if (settlement.unfinished !== null) {
    const waits = [notBefore, diskRest?.until ?? null].filter((instant) => instant !== null)
    const nextAttemptAt = waits.length === 0 ? null : Math.max(...waits)
    leaveUnfinished(row, { at: now, unfinished: settlement.unfinished, nextAttemptAt })
  }
  const next = leavesLane(settlement) ? nextOfTurn(lane, row, now) : undefined
  if (next !== undefined) {
    withdraw(tables, next)
    lane.inFlight = { ...inFlight, row: next }
    return goOn(next)
  }
  lane.pacedUntil = notBefore
  lane.limitedUntil = diskRest?.until ?? null
  lane.diskFailuresInARow = diskRest?.inARow ?? 0
  if (breaker !== null) {
    const { pause, failures } = breaker
    const { control } = lane
    lane.control = {
      ...control,
      failures,
      pauses: pause === null ? control.pauses : pausesAfter(control.pauses, pause),
    }
    if (pause !== null) notePause(lane, pause, now)
    reportPause(tables, lane, now, breaker.events)
  }
  release(tables, lane, now, settlement._tag === "Again")
  if (settlement._tag === "Again" && settlement.unfinished === "new_chats_closed") {
    returnAside(tables, row, now)
  }
  return { id, next: null, comesAgain: lane.nextDue !== null }
}

/** Changes the lane's control and reschedules it; false without such a lane. */
export const controlLane = (
  tables: Tables,
  numberId: NumberId,
  now: number,
  change: (control: LaneControl) => Partial<LaneControl>,
  events?: NumberEventIds,
): boolean => {
  wakeCampaigns(tables, tables.lanes.get(numberId)?.number.workspaceId, now)
  const lane = findLane(tables, numberId)
  if (lane === undefined) return false
  lane.control = { ...lane.control, ...change(lane.control) }
  applyChange(tables, lane, { _tag: "Changed", firstDueAt: firstDueAt(lane, now) })
  lane.limitedUntil = null
  reportPause(tables, lane, now, events)
  return true
}

/** The number has a new session. */
export const endOwnPauses = (
  tables: Tables,
  lane: Lane,
  now: number,
  events: NumberEventIds | undefined,
): void => {
  const change = ({ pauses }: LaneControl) => ({ pauses: pausesOnceLinked(pauses) })
  controlLane(tables, lane.number.id, now, change, events)
}

const newChatSteps = (
  tables: Tables,
): Pick<Steps<LaneQueue>, "openNewChats" | "mayAwaitNewChats"> => ({
  openNewChats: (now, limit) => {
    const ended = tables.lanes.rows
      .filter(({ newChatsUntil: until }) => until !== null && until <= now)
      .toSorted((a, b) => (a.newChatsUntil ?? 0) - (b.newChatsUntil ?? 0))
      .slice(0, limit)
    for (const lane of ended) setNewChats(tables, lane, null, now)
    return ended.length
  },

  mayAwaitNewChats: (numberId, messageId, now) => {
    const row = tables.messages.get(messageId)
    return (
      waitsForNewChats(findLane(tables, numberId)?.newChatsUntil ?? null, now) &&
      row?.attempts.every(({ unfinished }) => unfinished !== "new_chats_closed") === true
    )
  },
})

export const laneQueue = (tables: Tables): Steps<LaneQueue> => ({
  ...newChatSteps(tables),
  claim: (query) => claimLanes(tables, query),

  renew: (leases, leaseUntil) => {
    const renewed = new Set<NumberId>()
    for (const { numberId, lease } of leases) {
      const lane = heldLane(tables, numberId, lease)
      if (lane === undefined || lane.inFlight === null) continue
      lane.inFlight = { ...lane.inFlight, leaseUntil }
      applyChange(tables, lane, { _tag: "HandedOut", leaseUntil })
      renewed.add(numberId)
    }
    return renewed
  },

  settle: (settlements, now) => {
    const settled = new Set<MessageId>()
    const next = new Map<MessageId, NextOfTurn>()
    const blockedByLock: Array<Settlement> = []
    let comesAgain = false
    for (const settlement of settlements) {
      const lane = tables.lanes.get(settlement.numberId)
      if (lane !== undefined && tables.heldByCallers.has(lane)) {
        blockedByLock.push(settlement)
        continue
      }
      const one = settleOne(tables, settlement, now)
      if (one === undefined) continue
      settled.add(one.id)
      if (one.next !== null) next.set(one.id, one.next)
      comesAgain ||= one.comesAgain
    }
    return { settled, next, comesAgain, blockedByLock }
  },

  pause: (numberId, pause, now, events) => {
    const lane = findLane(tables, numberId)
    if (lane !== undefined) notePause(lane, pause, now)
    const change = (control: LaneControl) => ({ pauses: pausesAfter(control.pauses, pause) })
    return controlLane(tables, numberId, now, change, events)
  },

  resume: (numberId, now, events) => {
    const lane = findLane(tables, numberId)
    const { at, reason } = lane?.changed ?? { at: now, reason: null }
    const isGivenUp = lane?.number.status === "disconnected" && reason !== null
    if (isGivenUp && abandonedReasons.includes(reason))
      lane.changed = { at, reason: reasonOnceResumed }
    return controlLane(tables, numberId, now, () => ({ pauses: noPauses }), events)
  },

  reportEndedPauses: (now, eventIds) => {
    const ended = endingPauses(tables)
      .filter(({ at }) => at <= now)
      .toSorted((a, b) => a.at - b.at || a.lane.number.id - b.lane.number.id)
      .slice(0, eventIds.length)
    for (const [index, { lane }] of ended.entries()) {
      const pause = eventIds[index]
      if (pause !== undefined) reportPause(tables, lane, now, { pause })
    }
    return ended.length
  },
})
