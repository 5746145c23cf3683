/** What happens to a lane and to the messages that wait in it, whichever port asks for it. */
import type { MessageChange, NumberId, SendingNumber } from "@messaging-service/core"
import { call } from "./Callback.ts"
import { fanOut } from "./Endpoint.ts"
import { announce } from "./outbox.ts"
import { byDue } from "./World.ts"
import type { Lane, MessageRow, WorkspaceRow, World } from "./World.ts"
import { Sorted, turningPoint } from "./Sorted.ts"

export const openLane = (
  world: World,
  workspace: WorkspaceRow,
  number: Omit<SendingNumber, "id">,
): Lane =>
  world.lanes.insert((id: NumberId) => ({
    number: { ...number, id },
    workspace,
    callbackUrl: null,
    removed: false,
    lease: 0,
    inFlight: null,
    waiting: new Sorted(byDue),
    waitingTest: new Set(),
    nextDue: null,
    restsUntil: Number.NEGATIVE_INFINITY,
    agendaAt: null,
    counting: new Sorted(byDue),
    fullUntil: null,
    quotaWindowMillis: 0,
    sentTimes: [],
  }))

/**
 * When somebody could next claim from the lane. What is in flight is claimed again when its lease
 * runs out; of a removed number nothing is but what may have left, of one that is not connected
 * nothing at all.
 */
const claimableAt = (lane: Lane): number | null => {
  const connected = lane.number.status === "connected"
  if (lane.inFlight !== null) return connected || lane.removed ? lane.inFlight.leaseUntil : null
  if (lane.removed) return mayHaveLeft(lane.waiting.first) ? lane.nextDue : null
  return connected ? lane.nextDue : null
}

/** An attempt was interrupted: only another one, or giving up, settles the message. */
export const mayHaveLeft = (row: MessageRow | undefined): boolean =>
  row !== undefined && row.message.state === "waiting" && row.interruptions > 0

/** Puts the lane into its place in the agenda; to be called after every change of it. */
export const reschedule = (world: World, lane: Lane): void => {
  const at = claimableAt(lane)
  if (at === lane.agendaAt) return
  if (lane.agendaAt !== null) world.agenda.delete({ at: lane.agendaAt, lane })
  if (at !== null) world.agenda.add({ at, lane })
  lane.agendaAt = at
}

/** A new message waits. */
export const enqueue = (world: World, row: MessageRow): void => {
  const { lane, message } = row
  if (message.mode === "test") {
    lane.waitingTest.add(row)
  } else {
    lane.waiting.add(row)
    lane.counting.add(row)
    const due = Math.max(message.dueAt, lane.restsUntil)
    lane.nextDue = lane.nextDue === null ? due : Math.min(lane.nextDue, due)
    reschedule(world, lane)
  }
  offer(world, row)
}

/** The message waits and is in nobody's hands: sweeps may find it. */
const offer = (world: World, row: MessageRow): void => {
  if (row.message.expiresAt !== null) world.expiring.add(row)
  if (row.lane.removed) world.stranded.add(row)
  else if (row.message.mode === "test") world.dueTest.add(row)
}

/** The message no longer waits, or is in somebody's hands. */
const withdraw = (world: World, row: MessageRow): void => {
  if (row.message.expiresAt !== null) world.expiring.delete(row)
  world.stranded.delete(row)
  if (row.message.mode === "test") world.dueTest.delete(row)
}

/** Hands a message out under a new lease. */
export const take = (world: World, row: MessageRow, leaseUntil: number): void => {
  const { lane } = row
  withdraw(world, row)
  lane.lease++
  lane.inFlight = { row, leaseUntil }
  world.inFlight.add(lane.number.id)
  reschedule(world, lane)
}

/** The message in flight is settled, and the lane goes to the back of the line. */
export const release = (world: World, lane: Lane, now: number, notBefore: number | null): void => {
  const row = lane.inFlight?.row
  lane.inFlight = null
  world.inFlight.delete(lane.number.id)
  if (notBefore !== null) lane.restsUntil = notBefore
  const head = lane.waiting.first
  lane.nextDue = head === undefined ? null : Math.max(head.message.dueAt, now, lane.restsUntil)
  reschedule(world, lane)
  if (row?.message.state === "waiting" && !mayHaveLeft(row)) offer(world, row)
}

/** In the hands of a transport, or taken out of them without knowing whether it left. */
export const isInFlight = (row: MessageRow): boolean =>
  row.lane.inFlight?.row === row || mayHaveLeft(row)

/** Writes down what others are to hear of a message's end. */
export const tell = (
  world: World,
  owner: WorkspaceRow,
  { callback, event }: MessageChange,
): void => {
  announce(world, {
    eventId: event.id,
    type: event.type,
    workspaceId: event.workspaceId,
    mode: event.mode,
    messageId: event.messageId,
    createdAt: event.createdAt,
    body: event.body,
  })
  fanOut(world, owner, event)
  call(world, callback)
}

/**
 * Writes a message's end: its state, its event, and what it gives back. A lane that loses its head
 * is due with the next one, but never before its turn.
 */
export const finish = (world: World, row: MessageRow, change: MessageChange): void => {
  const { lane } = row
  const { state, sentAt, error, foundMediaType, from } = change.message
  withdraw(world, row)
  row.message = { ...row.message, state, sentAt, error, foundMediaType, from }
  tell(world, lane.workspace, change)
  if (row.message.mode === "test") {
    lane.waitingTest.delete(row)
    return
  }
  lane.waiting.delete(row)
  if (sentAt !== null) {
    lane.sentTimes.splice(
      turningPoint(lane.sentTimes, (time) => time <= sentAt),
      0,
      sentAt,
    )
  }
  if (change.givesBack) giveBack(row)
  const head = lane.waiting.first
  if (head === undefined) lane.nextDue = null
  else if (lane.nextDue !== null) lane.nextDue = Math.max(lane.nextDue, head.message.dueAt)
  reschedule(world, lane)
}

/** The quota gets the message back, and the plan, if the message took from it and it counts. */
const giveBack = (row: MessageRow): void => {
  row.lane.counting.delete(row)
  row.lane.fullUntil = null
  const owner = row.lane.workspace
  const plan = owner.workspace.plan
  if (!row.tookAllowance || plan === null || plan.messagesRemaining === null) return
  owner.workspace = {
    ...owner.workspace,
    plan: { ...plan, messagesRemaining: plan.messagesRemaining + 1 },
  }
}

/** Removes the number: what waits and is not in flight is stranded, nobody links it any more. */
export const closeLane = (world: World, lane: Lane): void => {
  lane.removed = true
  world.linkings.delete(lane.number.id)
  reschedule(world, lane)
  for (const row of [...lane.waiting, ...lane.waitingTest]) {
    withdraw(world, row)
    if (!isInFlight(row)) offer(world, row)
  }
}
