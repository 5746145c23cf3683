/** `LaneQueue` in memory: which lane has its turn, and who may settle it. */
import {
  givenUpReasons,
  holdsLease,
  isOwned,
  noPauses,
  pausedUntil,
  pausesAfter,
  pausesOnceLinked,
  takeShares,
  reasonOnceResumed,
} from "@messaging-service/core"
import type {
  ClaimedMessage,
  ClaimQuery,
  LaneControl,
  LaneQueue,
  MessageId,
  NumberId,
  Settlement,
} from "@messaging-service/core"
import {
  finish,
  firstDueAt,
  firstToLeave,
  heldUntil,
  interrupted,
  limitsOf,
  release,
  take,
  turn,
} from "./Lane.ts"
import { laneOf, messageOf } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { Lane, MessageRow, Tables } from "./tables.ts"

/** What a lane has to give: a message; or nothing until a later moment, and what of that is its limits'. */
type Offer =
  | { readonly row: MessageRow }
  | { readonly row: null; readonly until: number | null; readonly limited: number | null }

const nothing: Offer = { row: null, until: null, limited: null }

/** What a claim of this lane would hand out; changes nothing. */
const offerOf = (lane: Lane, query: ClaimQuery): Offer => {
  const { now, sendCap } = query
  const paused = heldUntil(lane, pausedUntil(lane.control.pauses.first, now))
  if (paused !== null && paused > now) return { ...nothing, until: paused }
  if (lane.inFlight !== null) return { row: lane.inFlight.row }
  const row = firstToLeave(lane, now)
  if (row === null || (row !== lane.inDoubt && row.message.dueAt > now)) return nothing
  const limited = limitsOf(lane, row, now, sendCap)
  return limited === null ? { row } : { row: null, until: limited, limited }
}

/** The lanes that may be claimed, the longest due first. */
function* dueLanes(tables: Tables, { now, owned }: ClaimQuery): Generator<Lane> {
  for (const { at, lane } of tables.agenda) {
    if (at > now) return
    if (isOwned(lane.number.id, owned)) yield lane
  }
}

const claimLanes = (tables: Tables, query: ClaimQuery): ReadonlyArray<ClaimedMessage> => {
  const lanes = takeShares(
    dueLanes(tables, query),
    (lane) => lane.number.workspaceId,
    query,
    query.limit,
  )
  const offers = lanes.map((lane) => [lane, offerOf(lane, query)] as const)

  const claimed: Array<ClaimedMessage> = []
  for (const [lane, offer] of offers) {
    lane.limitedUntil = offer.row === null ? offer.limited : null
    if (lane.limitedUntil !== null) lane.noRoomInARow = 0
    if (offer.row === null) {
      const { inFlight } = lane
      if (inFlight !== null) {
        // Its worker died under it, and the pause began before another could take it up.
        interrupted(inFlight.row)
        lane.inFlight = null
        tables.inFlight.delete(lane.number.id)
      }
      const { until } = offer
      turn(tables, lane, { _tag: "PassedOver", until, firstDueAt: firstDueAt(lane, query.now) })
      continue
    }
    const { row } = offer
    // Begun before, and never settled.
    if (lane.inFlight !== null) interrupted(row)
    take(tables, row, query.leaseUntil)
    claimed.push({
      message: messageOf(row),
      number: lane.number,
      removed: lane.removed,
      lease: lane.lease,
      interruptions: row.interruptions,
      noRoomInARow: lane.noRoomInARow,
      pacing: lane.control.pacing,
      strikes: lane.control.strikes,
    })
  }
  return claimed
}

/** The lane, if this lease is still the one under which it has a message in flight. */
const heldLane = (tables: Tables, numberId: NumberId, lease: number): Lane | undefined => {
  const lane = tables.lanes.get(numberId)
  if (lane === undefined) return undefined
  const leaseUntil = lane.inFlight?.leaseUntil ?? null
  return holdsLease({ lease: lane.lease, leaseUntil }, lease) ? lane : undefined
}

/** Settles one attempt; the message's id, or undefined when the lease is no longer the lane's. */
const settleOne = (tables: Tables, settlement: Settlement, now: number): MessageId | undefined => {
  const { numberId, lease } = settlement
  const lane = heldLane(tables, numberId, lease)
  const row = lane?.inFlight?.row
  if (lane === undefined || row === undefined) return undefined
  const { id } = row.message
  const { breaker, noRoom, notBefore } = settlement
  const settled = settlement._tag === "Ended" ? settlement.change.message.id : settlement.messageId
  if (settled !== id) return undefined
  if (settlement._tag === "Ended") finish(tables, row, settlement.change)
  else if (settlement.interrupted) interrupted(row)
  lane.restsUntil = notBefore
  lane.limitedUntil = noRoom?.until ?? null
  lane.noRoomInARow = noRoom?.inARow ?? 0
  if (breaker !== null) {
    const { pause, strikes } = breaker
    const { control } = lane
    lane.control = {
      ...control,
      strikes,
      pauses: pause === null ? control.pauses : pausesAfter(control.pauses, pause),
    }
  }
  release(tables, lane, now, settlement._tag === "Again")
  return id
}

/** Changes what decides about the lane, which is looked at anew; false when there is none. */
export const controlLane = (
  tables: Tables,
  numberId: NumberId,
  now: number,
  change: (control: LaneControl) => Partial<LaneControl>,
): boolean => {
  const lane = laneOf(tables, numberId)
  if (lane === undefined) return false
  lane.control = { ...lane.control, ...change(lane.control) }
  turn(tables, lane, { _tag: "Changed", firstDueAt: firstDueAt(lane, now) })
  lane.limitedUntil = null
  return true
}

/** The number has a new session. */
export const endOwnPauses = (tables: Tables, lane: Lane, now: number): void => {
  controlLane(tables, lane.number.id, now, ({ pauses }) => ({ pauses: pausesOnceLinked(pauses) }))
}

export const laneQueue = (tables: Tables): Steps<typeof LaneQueue.Service> => ({
  claim: (query) => claimLanes(tables, query),

  renew: (leases, leaseUntil) => {
    const renewed = new Set<NumberId>()
    for (const { numberId, lease } of leases) {
      const lane = heldLane(tables, numberId, lease)
      if (lane === undefined || lane.inFlight === null) continue
      lane.inFlight = { row: lane.inFlight.row, leaseUntil }
      turn(tables, lane, { _tag: "HandedOut", leaseUntil })
      renewed.add(numberId)
    }
    return renewed
  },

  settle: (settlements, now) => {
    const settled = new Set<MessageId>()
    for (const settlement of settlements) {
      const id = settleOne(tables, settlement, now)
      if (id !== undefined) settled.add(id)
    }
    return { settled, heldUp: [] }
  },

  pause: (numberId, pause, now) =>
    controlLane(tables, numberId, now, (control) => ({
      pauses: pausesAfter(control.pauses, pause),
    })),

  resume: (numberId, now) => {
    const lane = laneOf(tables, numberId)
    const { at, reason } = lane?.changed ?? { at: now, reason: null }
    const isGivenUp = lane?.number.status === "disconnected" && reason !== null
    if (isGivenUp && givenUpReasons.includes(reason))
      lane.changed = { at, reason: reasonOnceResumed }
    return controlLane(tables, numberId, now, () => ({ pauses: noPauses }))
  },
})
