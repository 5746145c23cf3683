/** Messages to new recipients, while new chats are closed, in memory. */
import {
  canBeNew,
  hasExpired,
  mostSetAside,
  isOutcomeUnknown,
  waitsForNewChats,
} from "@messaging-service/core"
import type { ClaimQuery } from "@messaging-service/core"
import { isOpen } from "./chatRows.ts"
import { earliest } from "./collections.ts"
import {
  applyChange,
  cutTurn,
  firstDueAt,
  nextPauseDue,
  putAside,
  resume,
  turnWithFirst,
} from "./lanes.ts"
import type { Lane, MessageRow, Tables } from "./tables.ts"

/** Whether an operator is to release it, since the store went back in time. */
export const isHeldByRestore = (row: MessageRow): boolean =>
  row.campaign === null && row.lane.held.has(row) && !row.lane.setAside.has(row)

export const toPhone = ({ message: { to } }: MessageRow): string | null =>
  "phone" in to ? (to.phone ?? null) : null

/** Who wrote to the number, or got a message of its owner, by phone. */
const phonesOfChats = (lane: Lane): ReadonlySet<string> =>
  new Set(
    lane.workspace.chats.flatMap((row) =>
      row.lane === lane && row.mode === "live" && isOpen(row)
        ? (row.person?.known.phone ?? [])
        : [],
    ),
  )

/** Makes what says whether a message's recipient is new to the number. */
const makeIsNew = (lane: Lane) => {
  const known = new Set(phonesOfChats(lane))
  for (const row of lane.workspace.messages.live) {
    const phone = row.lane === lane && row.message.sentAt !== null ? toPhone(row) : null
    if (phone !== null) known.add(phone)
  }
  return (row: MessageRow): boolean => canBeNew(row.message.to) && !known.has(toPhone(row) ?? "")
}

/** Until when it waits because its recipient is new; null: not for that. */
export const findNewChatsWait = (row: MessageRow, now: number): number | null => {
  const { lane, message } = row
  const until = lane.newChatsUntil
  if (message.mode === "test" || message.state !== "waiting" || !waitsForNewChats(until, now)) {
    return null
  }
  return lane.setAside.has(row) || makeIsNew(lane)(row) ? until : null
}

/** Messages that wait for new chats wait like others again: all, or only those to these phones. */
export const releaseNewChats = (
  tables: Tables,
  lane: Lane,
  phones: ReadonlySet<string> | null,
  now: number,
): void => {
  const released = [...lane.setAside].filter(
    (row) => phones === null || phones.has(toPhone(row) ?? ""),
  )
  for (const row of released) {
    lane.setAside.delete(row)
    if (row.campaign?.campaign.isHolding !== true) resume(tables, row)
  }
  if (released.length > 0) turnWithFirst(tables, lane, now)
}

/** Who wrote to the number is known. */
export const releaseWriters = (tables: Tables, lane: Lane, now: number): void => {
  if (lane.setAside.size > 0) releaseNewChats(tables, lane, phonesOfChats(lane), now)
}

/** Sets until when messages to new recipients wait; null: what waits is released. */
export const setNewChats = (
  tables: Tables,
  lane: Lane,
  until: number | null,
  now: number,
): void => {
  if (lane.newChatsUntil === null && until !== null) cutTurn(lane)
  lane.newChatsUntil = until
  if (until === null) releaseNewChats(tables, lane, null, now)
}

/** What the platform told of its number, or the setting of its workspace, changed. */
export const turnNewChats = (tables: Tables, lane: Lane, now: number): void => {
  const until = lane.restrictions?.waitsUntil ?? null
  const isHolding =
    lane.workspace.conversations?.holdNewChats === true && waitsForNewChats(until, now)
  setNewChats(tables, lane, isHolding ? until : null, now)
}

const setAside = (tables: Tables, row: MessageRow): void => {
  putAside(tables, row)
  row.lane.setAside.add(row)
}

/** The remote refused a new recipient: it waits while new chats are closed. */
export const returnAside = (tables: Tables, row: MessageRow, now: number): void => {
  const { lane } = row
  if (lane.removed || isOutcomeUnknown(row) || !waitsForNewChats(lane.newChatsUntil, now)) return
  setAside(tables, row)
  const first = firstDueAt(lane, now)
  applyChange(tables, lane, { _tag: "Settled", now, again: null, firstDueAt: first })
}

/**
 * Sets due messages to new recipients aside, `most` of them. `isReady`: the next messages of the lane may leave.
 * While something may have left, nothing else leaves.
 */
const setNewChatsAside = (
  tables: Tables,
  lane: Lane,
  { now, turn }: ClaimQuery,
  most: number,
): { readonly isReady: boolean; readonly count: number } => {
  const until = lane.newChatsUntil
  if (until !== null && until <= now) setNewChats(tables, lane, null, now)
  const mayHaveLeft = lane.inFlight !== null || lane.inDoubt !== null
  if (lane.newChatsUntil === null || mayHaveLeft || lane.removed) return { isReady: true, count: 0 }
  const isNew = makeIsNew(lane)
  const known: Array<string> = []
  const newOnes: Array<MessageRow> = []
  for (const row of lane.waiting) {
    if (row.message.dueAt > now || known.length >= turn || newOnes.length >= most) break
    if (hasExpired(row.message, now)) continue
    if (isNew(row)) newOnes.push(row)
    else known.push(toPhone(row) ?? "")
  }
  for (const row of newOnes) setAside(tables, row)
  // People who became known meanwhile get what waited before the next one.
  releaseNewChats(tables, lane, new Set(known), now)
  return { isReady: newOnes.length < most || known.length >= turn, count: newOnes.length }
}

/** The lanes that may hand something out now. */
export const readyLanes = (
  tables: Tables,
  lanes: ReadonlyArray<Lane>,
  query: ClaimQuery,
): ReadonlyArray<Lane> => {
  let left = mostSetAside
  return lanes.filter((lane) => {
    if (lane.newChatsUntil === null) return true
    const { count, isReady } = setNewChatsAside(tables, lane, query, left)
    left -= count
    return isReady
  })
}

const nextNewChatsDue = (tables: Tables): number | null =>
  earliest(
    tables.lanes.rows.flatMap(({ newChatsUntil: until }) =>
      until !== null && Number.isFinite(until) ? [until] : [],
    ),
  )

/** When time alone changes something of a lane: a pause or a wait for new chats ends. */
export const nextLaneEnd = (tables: Tables): number | null =>
  earliest([nextPauseDue(tables), nextNewChatsDue(tables)].filter((at) => at !== null))
