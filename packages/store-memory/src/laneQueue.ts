/** `LaneQueue` in memory: which lane has its turn, and who may settle it. */
import { cappedUntil, isOwned, mayBeHandedOut, takeShares } from "@messaging-service/core/ports"
import type {
  ClaimedMessage,
  ClaimQuery,
  LaneQueue,
  MessageId,
  NumberId,
  Settlement,
} from "@messaging-service/core/ports"
import { finish, firstDueAt, release, take, turn } from "./Lane.ts"
import { messageOf } from "./tables.ts"
import type { Lane, MessageRow, Steps, Tables } from "./tables.ts"

/** What a lane has to give: a message, or nothing until a later moment. */
type Offer =
  | { readonly row: MessageRow }
  | { readonly row: null; readonly restsUntil: number | null }

/** What a claim of this lane would hand out; changes nothing. */
const offerOf = (lane: Lane, query: ClaimQuery): Offer => {
  if (lane.inFlight !== null) return { row: lane.inFlight.row }
  for (const row of lane.waiting) {
    if (row.message.dueAt > query.now) break
    if (!mayBeHandedOut(row.message, row, query.now)) continue
    const restsUntil = cappedUntil(lane.sentTimes, query.now, query.sendCap)
    return restsUntil === null ? { row } : { row: null, restsUntil }
  }
  return { row: null, restsUntil: null }
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
    if (offer.row === null) {
      const { restsUntil } = offer
      lane.restsUntil = restsUntil ?? lane.restsUntil
      turn(tables, lane, {
        _tag: "PassedOver",
        restsUntil,
        firstDueAt: firstDueAt(lane, query.now),
      })
      continue
    }
    const { row } = offer
    // Begun before, and never settled.
    if (lane.inFlight !== null) row.interruptions++
    take(tables, row, query.leaseUntil)
    claimed.push({
      message: messageOf(row),
      number: lane.number,
      removed: lane.removed,
      lease: lane.lease,
      interruptions: row.interruptions,
    })
  }
  return claimed
}

/** The lane, if this lease is still the one under which it has a message in flight. */
const heldLane = (tables: Tables, numberId: NumberId, lease: number): Lane | undefined => {
  const lane = tables.lanes.get(numberId)
  return lane !== undefined && lane.inFlight !== null && lane.lease === lease ? lane : undefined
}

/** Settles one attempt; the message's id, or undefined when the lease is no longer the lane's. */
const settleOne = (tables: Tables, settlement: Settlement, now: number): MessageId | undefined => {
  const { numberId, lease } = settlement
  const lane = heldLane(tables, numberId, lease)
  const row = lane?.inFlight?.row
  if (lane === undefined || row === undefined) return undefined
  const { id } = row.message
  if (settlement._tag === "Ended") {
    if (settlement.change.message.id !== id) return undefined
    finish(tables, row, settlement.change)
    release(tables, lane, now, null)
    return id
  }
  if (settlement.messageId !== id) return undefined
  if (settlement.interrupted) row.interruptions++
  release(tables, lane, now, settlement)
  return id
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
    return settled
  },
})
