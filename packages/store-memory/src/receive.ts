/** What transports report of a number's chats, stored in memory; see `ChatStore.receive`. */
import {
  changedEvent,
  changedMessage,
  changedReaction,
  copyWaitMillis,
  gapEvent,
  isKept,
  reactionEvent,
  receivedMarks,
  withoutCopy,
} from "@messaging-service/core"
import type {
  Addressed,
  IncomingChange,
  IncomingGap,
  NewReceived,
  ChatContext,
  Reaction,
  ReceivedMessageId,
  ReceivedOutcome,
  TransportId,
  UnreadableMessage,
} from "@messaging-service/core"
import { isReadable } from "./chatRows.ts"
import { addressesMeet, discardFile, findMark, findPerson } from "./chats.ts"
import { announceReceived, storeMessage, timeOfReceipt, toReaction, toReceived } from "./chats.ts"
import type { ReceivingSteps } from "./chats.ts"
import { announce } from "./serviceStores.ts"
import { earliest } from "./collections.ts"
import { findLane, transportKey } from "./tables.ts"
import type {
  CopyWait,
  Lane,
  MessageRow,
  PersonRow,
  ReactionRow,
  ReceivedRow,
  Tables,
} from "./tables.ts"
import { fanOut } from "./webhooks.ts"

const repeat: ReceivedOutcome = { id: null, became: "repeat" }
const dropped: ReceivedOutcome = { id: null, became: "dropped" }

// Copies of what could not be read

/** Under every address by which its author is known. */
const people = (lane: Lane, { person }: ChatContext): ReadonlyArray<PersonRow> =>
  person === null ? [] : [...lane.people].filter(({ known }) => addressesMeet(known, person))

const findStored = (lane: Lane, message: Addressed): ReturnType<typeof findMark> =>
  [message.person, ...people(lane, message).map(({ known }) => known)]
    .map((person) => findMark(lane, message, person))
    .find((mark) => mark !== undefined)

const isSameMessage = (lane: Lane, one: Addressed, other: Addressed): boolean => {
  if (one.remoteId !== other.remoteId || one.mode !== other.mode || one.fromMe !== other.fromMe) {
    return false
  }
  if (one.group?.remoteId !== other.group?.remoteId) return false
  if (one.person === null || other.person === null) return one.person === other.person
  const known = new Set(people(lane, one))
  return (
    addressesMeet(one.person, other.person) || people(lane, other).some((row) => known.has(row))
  )
}

/** More than one when its author was first told under several addresses. */
const findWaits = (lane: Lane, message: Addressed): ReadonlyArray<CopyWait> =>
  [...lane.copyWaits].filter((wait) => isSameMessage(lane, wait.message, message))

const awaitCopy = (lane: Lane, message: UnreadableMessage, now: number): ReceivedOutcome => {
  const stored = findStored(lane, message)
  if (stored !== undefined) return { id: stored.id, became: "repeat" }
  if (findWaits(lane, message).length > 0) return repeat
  lane.copyWaits.add({ message, toldAt: timeOfReceipt(lane, now) })
  return { id: null, became: "waiting" }
}

const toWaitEnd = ({ toldAt }: CopyWait): number => toldAt + copyWaitMillis

const copyWaits = (tables: Tables) =>
  tables.lanes.rows.flatMap((lane) => Array.from(lane.copyWaits, (wait) => ({ lane, wait })))

export const nextCopyWaitEnd = (tables: Tables): number | null =>
  earliest(copyWaits(tables).map(({ wait }) => toWaitEnd(wait)))

// Changes of messages

/** The chat's messages that a change may be about, the first stored first. */
const findTargets = (lane: Lane, change: IncomingChange): ReadonlyArray<ReceivedRow> => {
  const { fromMe, group, isVerified, mode, person, target } = change
  const known = people(lane, change)
  const isInChat = ({ chat }: ReceivedRow): boolean => {
    if (group !== null) return chat.group === group.remoteId
    if (person === null) return isVerified
    return chat.person !== null && known.includes(chat.person)
  }
  const isAuthor = ({ author, message }: ReceivedRow): boolean =>
    message.fromMe === fromMe &&
    (fromMe || group === null || (author !== null && known.includes(author)))
  return lane.received.filter(
    (row) =>
      row.remoteId === target.remoteId &&
      row.message.mode === mode &&
      (target.fromMe === null || row.message.fromMe === target.fromMe) &&
      isReadable(row) &&
      isInChat(row) &&
      (change.change.type === "reaction" || isVerified || isAuthor(row)),
  )
}

/** So that no copy of its repeats is asked for; it may be the copy that its own message waits for. */
const markChange = (
  tables: Tables,
  lane: Lane,
  { changeId: remoteId, ...place }: IncomingChange,
  now: number,
): void => {
  if (remoteId === undefined) return
  for (const wait of findWaits(lane, { ...place, remoteId })) lane.copyWaits.delete(wait)
  const mark = { id: ++tables.lastReceivedId as ReceivedMessageId, erasedAt: now }
  for (const one of receivedMarks({ ...place, remoteId }, place.person)) {
    if (!lane.receivedMarks.has(one)) lane.receivedMarks.set(one, mark)
  }
}

const changeMessage = (
  tables: Tables,
  lane: Lane,
  { eventId, incoming, link }: NewReceived<IncomingChange>,
  now: number,
): ReceivedOutcome => {
  const [row] = findTargets(lane, incoming)
  if (row === undefined) return dropped
  const { id } = row.message
  const changed = changedMessage(row.message, incoming)
  if (changed === null) return { id, became: "repeat" }
  row.message = changed
  if (changed.file === null) discardFile(tables, row)
  const type = incoming.change.type === "edit" ? "message.edited" : "message.revoked"
  announceReceived(tables, row, changedEvent({ eventId, link }, type, toReceived(row), now))
  return { id, became: "changed" }
}

/** A message of this service that left the number. */
const findSent = (
  tables: Tables,
  lane: Lane,
  { mode, target }: IncomingChange,
): MessageRow | undefined => {
  if (target.fromMe === false) return undefined
  const key = transportKey(lane.number.id, target.remoteId as TransportId)
  const sent = tables.messagesByTransportId.get(key)
  return sent?.message.mode === mode ? sent : undefined
}

const react = (
  tables: Tables,
  lane: Lane,
  { eventId, incoming, link, toMessageJson }: NewReceived<IncomingChange>,
  reaction: Pick<Reaction, "emoji" | "at">,
  now: number,
): ReceivedOutcome => {
  const received = findTargets(lane, incoming)[0]
  const sent = received === undefined ? findSent(tables, lane, incoming) : undefined
  const to = received ?? sent
  const { fromMe, group } = incoming
  if (to === undefined || (!fromMe && incoming.person === null)) return dropped
  const id = received?.message.id ?? null
  const person = incoming.person && findPerson(tables, lane, incoming.person)
  const latest =
    [...lane.reactions].find(
      (row) => row.to === to && row.fromMe === fromMe && (fromMe || row.person === person),
    ) ?? null
  const { isStored, isTold } = changedReaction(latest, reaction)
  if (!isStored) return { id, became: "repeat" }
  const row: ReactionRow = latest ?? {
    to,
    fromMe,
    person,
    group: group?.remoteId ?? null,
    ...reaction,
    storedAt: now,
    eventPositions: [],
  }
  Object.assign(row, reaction, { storedAt: now })
  lane.reactions.add(row)
  if (!isTold) return { id, became: "repeat" }
  const from = toReaction(row, lane)
  if (received !== undefined) {
    const message = { received: toReceived(received) }
    announceReceived(
      tables,
      received,
      reactionEvent({ eventId, link, toMessageJson }, from, message, now),
    )
  } else if (sent !== undefined) {
    const { message } = sent
    const event = reactionEvent({ eventId, link, toMessageJson }, from, { message }, now)
    row.eventPositions.push(announce(tables, event))
    fanOut(tables, lane.workspace, event)
  }
  return { id, became: "changed" }
}

const tellGap = (
  tables: Tables,
  { number, workspace }: Lane,
  { eventId, incoming }: NewReceived<IncomingGap>,
  now: number,
): ReceivedOutcome => {
  const event = gapEvent(eventId, incoming, number, now)
  announce(tables, event)
  fanOut(tables, workspace, event)
  return { id: null, became: "told" }
}

/** It waits no more. */
const storeOne = (
  tables: Tables,
  lane: Lane,
  one: Parameters<typeof storeMessage>[2],
  now: number,
): ReceivedOutcome => {
  for (const wait of findWaits(lane, one.incoming)) lane.copyWaits.delete(wait)
  return storeMessage(tables, lane, one, now)
}

const receiveOne = (
  tables: Tables,
  lane: Lane | undefined,
  one: NewReceived,
  now: number,
): ReceivedOutcome => {
  const settings = lane?.workspace.conversations ?? null
  const { incoming } = one
  if (lane === undefined || settings === null) return dropped
  if (incoming._tag === "Gap") return tellGap(tables, lane, { ...one, incoming }, now)
  if (!isKept(incoming, settings)) return dropped
  switch (incoming._tag) {
    case "Message":
      return storeOne(tables, lane, { ...one, incoming }, now)
    case "Unreadable":
      return awaitCopy(lane, incoming, now)
    case "Change": {
      const { at, change } = incoming
      markChange(tables, lane, incoming, now)
      return change.type === "reaction"
        ? react(tables, lane, { ...one, incoming }, { emoji: change.emoji, at }, now)
        : changeMessage(tables, lane, { ...one, incoming }, now)
    }
  }
}

/** See `ChatStore.receive`. */
export const receive = (
  tables: Tables,
  lane: Lane | undefined,
  received: ReadonlyArray<NewReceived>,
  now: number,
): ReadonlyArray<ReceivedOutcome> => received.map((one) => receiveOne(tables, lane, one, now))

export const receivingSteps = (tables: Tables): ReceivingSteps => ({
  receive: (numberId, received, now) => receive(tables, findLane(tables, numberId), received, now),

  needsNoCopy: (numberId, message) => {
    const lane = findLane(tables, numberId)
    if (lane === undefined) return false
    const settings = lane.workspace.conversations
    if (settings !== null && !isKept(message, settings)) return true
    return findStored(lane, message) !== undefined
  },

  endCopyWaits: (now, eventIds) => {
    let ended = 0
    const due = copyWaits(tables)
      .filter(({ wait }) => toWaitEnd(wait) <= now)
      .toSorted((a, b) => a.wait.toldAt - b.wait.toldAt)
      .slice(0, eventIds.length)
    for (const { lane, wait } of due) {
      const eventId = eventIds[ended]
      // Another one of the same message has ended it.
      if (eventId === undefined || !lane.copyWaits.delete(wait)) continue
      ended++
      const { conversations } = lane.workspace
      if (conversations === null || lane.removed || !isKept(wait.message, conversations)) continue
      const isOld = !(wait.toldAt >= conversations.since)
      if (isOld) continue
      storeOne(tables, lane, { eventId, incoming: withoutCopy(wait.message) }, now)
    }
    return ended
  },
})
