/**
 * Changes of a lane and its waiting messages, for every port, and its number's quota, decided by
 * the core from this store's sorted planned times.
 */
import {
  awaySinceAfter,
  changedTo,
  countExactly,
  countsInQuota,
  cutsTurn,
  getEnd,
  fitsByBound,
  fitsExactly,
  fullUntil,
  fullUntilAfter,
  goesOn,
  holdsUntil,
  isClaimable,
  isInBound,
  isInFlight,
  limitedUntil,
  maximumInterruptions,
  mayBeHandedOut,
  isOutcomeUnknown,
  nextDueAfter,
  nextTestTick,
  noPauses,
  numberEvent,
  gapEvent,
  pauseReport,
  noFailures,
  pausedUntil,
  quotaVerdict,
  statusReport,
  recipientName,
  stoppedUntil,
  withMessages,
} from "@messaging-service/core"
import type {
  ConnectionReason,
  EventId,
  ExactQuota,
  FigureKind,
  LaneChange,
  MessageChange,
  NumberChangeReport,
  NumberEventIds,
  NumberId,
  NumberStatus,
  Pacing,
  PlannedQuota,
  QuotaFacts,
  QuotaLimit,
  SendingNumber,
  StoredAttempt,
} from "@messaging-service/core"
import { earliest, Sorted, turningPoint } from "./collections.ts"
import { enterChat } from "./enterChat.ts"
import { noteFigure } from "./figures.ts"
import { announce } from "./serviceStores.ts"
import { addDueTest, byDue, deleteDueTest, checkCampaigns, placeInAgenda } from "./tables.ts"
import type { Lane, MessageRow, Tables, WorkspaceRow } from "./tables.ts"
import { call, fanOut } from "./webhooks.ts"

export const openLane = (
  tables: Tables,
  workspace: WorkspaceRow,
  number: Omit<SendingNumber, "id">,
  pacing: Pacing | null,
): Lane => {
  checkCampaigns(workspace, number.createdAt)
  return tables.lanes.insert((id: NumberId) => ({
    number: { ...number, id },
    proxy: null,
    changed: null,
    report: null,
    workspace,
    callbackUrl: null,
    removed: false,
    removedAt: null,
    lease: 0,
    inFlight: null,
    inDoubt: null,
    waiting: new Sorted(byDue),
    waitingTest: new Set(),
    held: new Set(),
    setAside: new Set(),
    newChatsUntil: null,
    nextDue: null,
    control: { pacing, failures: noFailures, pauses: noPauses },
    restrictedAt: null,
    receivedSequence: 0,
    received: [],
    people: new Set(),
    receivedMarks: new Map(),
    copyWaits: new Set(),
    reactions: new Set(),
    awaySince: null,
    isPauseReported: false,
    restrictions: null,
    pacedUntil: null,
    limitedUntil: null,
    diskFailuresInARow: 0,
    agendaAt: null,
    counting: new Sorted(byDue),
    fullUntil: null,
    givenBack: 0,
    quotaWindowMillis: 0,
    sentTimes: [],
    recipients: new Map(),
  }))
}

/** The lane as the core's rules see it. */
export const standing = ({ number, removed }: Lane) => ({
  connected: number.status === "connected" && !removed,
  removed,
})

/** The first message of the lane, in flight or not. */
const getFirst = ({ inDoubt, inFlight, waiting }: Lane): MessageRow | undefined =>
  inFlight?.row ?? inDoubt ?? waiting.first

/** An attempt did not end the message, as far as that is known; an interrupted one counts. */
export const leaveUnfinished = (row: MessageRow, attempt: StoredAttempt): void => {
  row.attempts.push(attempt)
  if (attempt.unfinished !== "interrupted") return
  row.interruptions++
  row.lane.inDoubt = row
}

/** The worker of the attempt died. */
export const interrupted = (row: MessageRow, now: number): void =>
  leaveUnfinished(row, { at: now, unfinished: "interrupted", nextAttemptAt: null })

/** The first message of the lane that can be handed out once due. */
export const firstToLeave = ({ inDoubt, waiting }: Lane, now: number): MessageRow | null => {
  if (inDoubt !== null) return inDoubt
  for (const row of waiting) if (mayBeHandedOut(row.message, row, now)) return row
  return null
}

export const firstDueAt = (lane: Lane, now: number): number | null =>
  firstToLeave(lane, now)?.message.dueAt ?? null

/** Until when its limits block the message. */
export const findLimits = (lane: Lane, row: MessageRow, now: number, dailyLimit: QuotaLimit) => {
  const { pacing } = lane.control
  const isNewRecipient =
    (pacing?.newRecipientsPerDay ?? null) !== null &&
    !lane.recipients.has(recipientName(row.message.to))
  return limitedUntil(
    {
      sentTimes: lane.sentTimes,
      firstTimes: isNewRecipient ? [...lane.recipients.values()].toSorted((a, b) => a - b) : [],
      isNewRecipient,
      dailyLimit,
      pacing,
    },
    now,
  )
}

/** What follows the message in flight takes another claim. */
export const cutTurn = (lane: Lane): void => {
  if (lane.inFlight !== null) lane.inFlight = { ...lane.inFlight, turnDue: null }
}

/** A message waits that may come before the last of the turn. */
const cutTurnBefore = (lane: Lane, dueAt: number): void => {
  const last = lane.inFlight?.turnDue ?? null
  if (last !== null && cutsTurn(last, dueAt)) cutTurn(lane)
}

/** Sets the number's status. If it is unchanged, only the reason may change. */
export const setStatus = (
  lane: Lane,
  change: Pick<SendingNumber, "phone" | "status">,
  now: number,
  reason: ConnectionReason | null = null,
): void => {
  cutTurn(lane)
  lane.changed = changedTo(lane, change.status, reason, now)
  const before = { status: lane.number.status, awaySince: lane.awaySince }
  lane.awaySince = awaySinceAfter(before, change.status, now)
  lane.number = { ...lane.number, ...change }
  checkCampaigns(lane.workspace, now)
}

/** Writes the event of a number, where conversations are on. */
const announceNumber = (
  tables: Tables,
  { number, workspace }: Lane,
  report: NumberChangeReport | undefined,
  id: EventId | undefined,
  now: number,
): void => {
  if (report === undefined || id === undefined || workspace.conversations === null) return
  const event = numberEvent(id, report, number, now)
  announce(tables, event)
  fanOut(tables, workspace, event)
}

/** What it was before its status was set. */
export const reportStatus = (
  tables: Tables,
  lane: Lane,
  before: NumberStatus,
  now: number,
  events: NumberEventIds | undefined,
): void => {
  const { changed, number } = lane
  const report = statusReport(before, number.status, changed?.reason ?? null, now)
  announceNumber(tables, lane, report, events?.status, now)
}

/** It is linked again: what came since it was not connected is not given to a new device. */
export const reportGap = (
  tables: Tables,
  { awaySince, number, workspace }: Lane,
  now: number,
  events: NumberEventIds | undefined,
): void => {
  if (awaySince === null || events === undefined || workspace.conversations === null) return
  const event = gapEvent(events.gap, { from: awaySince, reason: "relinked" }, number, now)
  announce(tables, event)
  fanOut(tables, workspace, event)
}

/** Its pauses may have changed, or ended. */
export const reportPause = (
  tables: Tables,
  lane: Lane,
  now: number,
  events: Pick<NumberEventIds, "pause"> | undefined,
): void => {
  if (events === undefined || lane.workspace.conversations === null) return
  const report = pauseReport(lane.isPauseReported, lane.control.pauses.first, now)
  if (report === undefined) return
  lane.isPauseReported = report.type === "number.paused"
  announceNumber(tables, lane, report, events.pause, now)
}

/** When each pause with a reported begin ends by itself. */
export const endingPauses = (
  tables: Tables,
): ReadonlyArray<{ readonly lane: Lane; readonly at: number }> =>
  tables.lanes.rows.flatMap((lane) => {
    const { first } = lane.control.pauses
    if (!lane.isPauseReported || lane.removed || lane.workspace.conversations === null) return []
    const at = first === null ? 0 : getEnd(first)
    return Number.isFinite(at) ? [{ lane, at }] : []
  })

export const nextPauseDue = (tables: Tables): number | null =>
  earliest(endingPauses(tables).map(({ at }) => at))

/** Whether its workspace is disabled; for a lane that is not removed. */
export const isDisabled = ({ removed, workspace }: Lane): boolean =>
  !removed && workspace.workspace.accountDisabled

/**
 * Until when the first message is blocked, that pause included; an attempt in flight is interrupted by then.
 */
export const heldUntil = (lane: Lane, pauseEnd: number | null): number | null => {
  const stopped = stoppedUntil(pauseEnd, isDisabled(lane))
  const first = getFirst(lane)
  if (first === undefined) return stopped
  const interruptions = first.interruptions + (lane.inFlight?.row === first ? 1 : 0)
  const { expiresAt } = first.message
  return holdsUntil(stopped, standing(lane), { interruptions, expiresAt })
}

/** Records a change of the lane. */
export const applyChange = (tables: Tables, lane: Lane, change: LaneChange): void => {
  const { control, inDoubt, inFlight, limitedUntil: limited, nextDue, removed, pacedUntil } = lane
  const { first: pause } = control.pauses
  lane.nextDue = nextDueAfter(
    {
      nextDue,
      leaseUntil: inFlight?.leaseUntil ?? null,
      pacedUntil,
      limitedUntil: limited,
      heldUntil: heldUntil(lane, pause === null ? null : getEnd(pause)),
      mayHaveLeft: inDoubt !== null,
      removed,
    },
    change,
  )
  reschedule(tables, lane)
}

/** Sorts the lane into the agenda. */
const reschedule = (tables: Tables, lane: Lane): void => {
  const { inFlight, nextDue } = lane
  const row = getFirst(lane)
  const first =
    row === undefined ? null : { leased: inFlight !== null, interruptions: row.interruptions }
  placeInAgenda(tables.agenda, lane, isClaimable(standing(lane), first) ? nextDue : null)
}

/** Its number connected or dropped out. The next due time stays while nothing may have left. */
export const turnWithNumber = (tables: Tables, lane: Lane, now: number): void => {
  if (lane.inDoubt !== null) {
    applyChange(tables, lane, { _tag: "Changed", firstDueAt: firstDueAt(lane, now) })
  } else reschedule(tables, lane)
}

export const turnWithWorkspace = (tables: Tables, lane: Lane, now: number): void => {
  applyChange(tables, lane, { _tag: "Changed", firstDueAt: firstDueAt(lane, now) })
  lane.limitedUntil = null
  for (const row of lane.waitingTest) {
    withdraw(tables, row)
    offer(tables, row)
  }
}

/** Its campaign was stopped or removed. */
const isAbandoned = ({ campaign }: MessageRow): boolean =>
  campaign !== null && (campaign.removed || campaign.campaign.state === "stopped")

/** A new message waits. */
export const enqueue = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  if (message.mode === "test") {
    lane.waitingTest.add(row)
  } else {
    lane.waiting.add(row)
    if (countsInQuota(message, false)) lane.counting.add(row)
    cutTurnBefore(lane, message.dueAt)
    applyChange(tables, lane, { _tag: "Accepted", dueAt: message.dueAt })
  }
  offer(tables, row)
}

/** Takes a message out of its lane's queue, without turning the lane. It may still expire. */
export const putAside = (tables: Tables, row: MessageRow): void => {
  const { lane } = row
  withdraw(tables, row)
  leaveTurn(row)
  lane.waiting.delete(row)
  lane.waitingTest.delete(row)
  lane.held.add(row)
  if (row.message.expiresAt !== null) tables.expiring.add(row)
}

/**
 * Holds all waiting messages of the lane; they may still expire. A message in flight may have left:
 * the next claim drops it.
 */
export const holdLane = (tables: Tables, lane: Lane, now: number): void => {
  lane.inDoubt = lane.inFlight?.row ?? lane.inDoubt
  lane.inFlight = null
  tables.inFlight.delete(lane.number.id)
  lane.limitedUntil = null
  for (const row of lane.setAside) if (row.campaign === null) lane.counting.delete(row)
  lane.setAside.clear()
  if (lane.inDoubt !== null) lane.inDoubt.interruptions = maximumInterruptions
  for (const row of [...lane.waiting, ...lane.waitingTest]) {
    if (row === lane.inDoubt) continue
    withdraw(tables, row)
    if (row.campaign === null) lane.counting.delete(row)
    putAside(tables, row)
  }
  applyChange(tables, lane, { _tag: "Changed", firstDueAt: firstDueAt(lane, now) })
}

/** Returns a held message to its lane, which is still to be turned, and to its quota. */
export const resume = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  lane.held.delete(row)
  // One of a campaign has counted all along.
  if (row.campaign === null) lane.fullUntil = null
  if (message.mode === "test") lane.waitingTest.add(row)
  else {
    lane.waiting.add(row)
    if (countsInQuota(message, false)) lane.counting.add(row)
  }
  offer(tables, row)
}

/** Another message may come first now; its limits are still unknown. */
export const turnWithFirst = (tables: Tables, lane: Lane, now: number): void => {
  cutTurn(lane)
  lane.limitedUntil = null
  applyChange(tables, lane, { _tag: "Changed", firstDueAt: firstDueAt(lane, now) })
}

/** Holds those messages of a campaign that no transport has in hands. */
export const holdMessages = (tables: Tables, rows: Iterable<MessageRow>, now: number): void => {
  for (const row of rows) {
    const { lane } = row
    if (lane.removed || lane.held.has(row) || isLeased(row)) continue
    putAside(tables, row)
    applyChange(tables, lane, { _tag: "Ended", firstDueAt: firstDueAt(lane, now) })
    lane.limitedUntil = null
  }
}

/** Returns held messages of a campaign to their lanes, but for those that also wait for new chats. */
export const releaseMessages = (tables: Tables, rows: Iterable<MessageRow>, now: number): void => {
  for (const row of rows) {
    if (!row.lane.held.has(row) || row.lane.setAside.has(row)) continue
    resume(tables, row)
    turnWithFirst(tables, row.lane, now)
  }
}

/** Their campaign was stopped or removed: those that no transport has in hands are to be cancelled. */
export const abandonMessages = (tables: Tables, rows: Iterable<MessageRow>): void => {
  for (const row of rows) if (!isLeased(row)) tables.orphaned.add(row)
}

/** The message waits and is not in flight: sweeps may find it. */
const offer = (tables: Tables, row: MessageRow): void => {
  if (row.message.expiresAt !== null) tables.expiring.add(row)
  if (row.lane.removed || isAbandoned(row)) tables.orphaned.add(row)
  if (row.lane.removed) return
  if (row.message.mode === "test" && !isDisabled(row.lane)) addDueTest(tables, row)
}

/** The message no longer waits, or is in flight. */
export const withdraw = (tables: Tables, row: MessageRow): void => {
  if (row.message.expiresAt !== null) tables.expiring.delete(row)
  tables.orphaned.delete(row)
  if (row.message.mode === "test") deleteDueTest(tables, row)
}

/** Hands a message out under a new lease, and the rest of its turn with it. */
export const take = (
  tables: Tables,
  row: MessageRow,
  rest: ReadonlyArray<MessageRow>,
  leaseUntil: number,
): void => {
  const { lane } = row
  const last = rest.at(-1) ?? row
  withdraw(tables, row)
  lane.lease++
  lane.inFlight = { row, leaseUntil, turn: [row, ...rest], turnDue: last.message.dueAt }
  tables.inFlight.add(lane.number.id)
  applyChange(tables, lane, { _tag: "HandedOut", leaseUntil })
}

/** Settles the message in flight: it ended, or waits again. */
export const release = (tables: Tables, lane: Lane, now: number, again: boolean): void => {
  const row = lane.inFlight?.row
  lane.inFlight = null
  tables.inFlight.delete(lane.number.id)
  applyChange(tables, lane, {
    _tag: "Settled",
    now,
    again: again && row !== undefined ? { mayHaveLeft: isOutcomeUnknown(row) } : null,
    firstDueAt: firstDueAt(lane, now),
  })
  if (row?.message.state !== "waiting" || isOutcomeUnknown(row)) return
  offer(tables, row)
  if (row.campaign?.campaign.isHolding === true) holdMessages(tables, [row], now)
}

/** The message of the same turn that follows, if the turn continues. */
export const nextOfTurn = (lane: Lane, row: MessageRow, now: number): MessageRow | undefined => {
  const { control, inFlight, diskFailuresInARow } = lane
  if (inFlight === null) return undefined
  const { leaseUntil, turn: messages, turnDue } = inFlight
  const state = {
    ...standing(lane),
    leaseUntil,
    stoppedUntil: stoppedUntil(pausedUntil(control.pauses.first, now), isDisabled(lane)),
    pacing: control.pacing,
    diskFailuresInARow,
    isCut: turnDue === null,
  }
  return goesOn(state, now) ? messages[messages.indexOf(row) + 1] : undefined
}

/** Whether a waiting message is in flight. */
export const isLeased = (row: MessageRow): boolean =>
  isInFlight({ leased: row.lane.inFlight?.row === row, interruptions: row.interruptions })

/** Queues the events and callbacks of a message's end; returns the event's position in the outbox. */
export const tell = (
  tables: Tables,
  owner: WorkspaceRow,
  { callback, event, message }: MessageChange,
): number => {
  const position = announce(tables, event)
  noteFigure(tables, "events", {
    workspaceId: event.workspaceId,
    mode: event.mode,
    at: event.createdAt,
    kind: event.type.slice("message.".length) as FigureKind,
    dueAt: message.sentAt === event.createdAt ? message.dueAt : null,
    errorCode: message.error?.code ?? null,
  })
  fanOut(tables, owner, event)
  call(tables, callback)
  return position
}

/** What was not in flight is no longer part of the turn. */
const leaveTurn = (row: MessageRow): void => {
  const { inFlight } = row.lane
  if (inFlight === null || inFlight.row === row) return
  row.lane.inFlight = { ...inFlight, turn: inFlight.turn.filter((one) => one !== row) }
}

/**
 * Writes a message's end: its state, its event, and its refund. A lane that loses its head is due
 * with the next one, but never before its turn.
 */
export const finish = (tables: Tables, row: MessageRow, change: MessageChange): void => {
  const { lane } = row
  const { state, sentAt, error, foundMediaType, from } = change.message
  lane.setAside.delete(row)
  if (lane.held.has(row)) resume(tables, row)
  withdraw(tables, row)
  row.message = { ...row.message, state, sentAt, error, foundMediaType, from }
  row.endedAt = change.event.createdAt
  if (state === "sent") enterChat(tables, row)
  row.eventPosition = tell(tables, lane.workspace, change)
  row.campaign?.waiting.delete(row)
  if (row.message.mode === "test") {
    lane.waitingTest.delete(row)
    if (nextTestTick(row.message, row.endedAt) !== null) tables.readByTestPhones.add(row)
    return
  }
  lane.waiting.delete(row)
  if (lane.inDoubt === row) lane.inDoubt = null
  leaveTurn(row)
  if (sentAt !== null) {
    const name = recipientName(row.message.to)
    if (!lane.recipients.has(name)) lane.recipients.set(name, sentAt)
    lane.sentTimes.splice(
      turningPoint(lane.sentTimes, (time) => time <= sentAt),
      0,
      sentAt,
    )
  }
  if (!countsInQuota(row.message, false)) {
    lane.counting.delete(row)
    lane.fullUntil = null
  }
  if (change.refunds) {
    lane.givenBack++
    giveBack(row)
  }
  applyChange(tables, lane, { _tag: "Ended", firstDueAt: firstDueAt(lane, change.event.createdAt) })
  lane.limitedUntil = null
}

/** Refunds the message to the plan, if it was taken from it and the plan counts. */
const giveBack = ({ lane: { workspace: owner }, tookAllowance }: MessageRow): void => {
  if (!tookAllowance) return
  owner.workspace = { ...owner.workspace, plan: withMessages(owner.workspace.plan, 1) }
}

/**
 * Removes the number: its waiting messages that are not in flight become orphaned, and attempts at
 * linking it end.
 */
export const closeLane = (tables: Tables, lane: Lane, now: number): void => {
  lane.removed = true
  lane.removedAt ??= now
  lane.limitedUntil = null
  lane.control = { ...lane.control, pauses: noPauses }
  lane.restrictions = null
  tables.linkings.delete(lane.number.id)
  checkCampaigns(lane.workspace, now)
  applyChange(tables, lane, { _tag: "Removed", now, mayHaveLeft: lane.inDoubt !== null })
  for (const row of [...lane.waiting, ...lane.waitingTest, ...lane.held]) {
    withdraw(tables, row)
    if (!isLeased(row)) offer(tables, row)
  }
  lane.held.clear()
  lane.setAside.clear()
}

/** The planned times that count, later than `after`. */
export function* plannedAfter(lane: Lane, after: number): Generator<number> {
  for (const { message } of lane.counting.from((row) => row.message.dueAt <= after)) {
    yield message.dueAt
  }
}

/** The exact facts of a number's quota. */
export const count = (lane: Lane, planned: PlannedQuota): ExactQuota =>
  countExactly(plannedAfter(lane, planned.plannedAt - planned.limit.windowMillis), planned)

/** Counts, and remembers until when the number is full if the new messages find no room. */
export const countAndRemember = (lane: Lane, planned: PlannedQuota, now: number): ExactQuota => {
  const exact = count(lane, planned)
  if (!fitsExactly(exact, planned)) {
    const { windowMillis } = planned.limit
    lane.fullUntil = fullUntil(plannedAfter(lane, now - windowMillis), now, planned.limit)
  }
  return exact
}

/** Whether there is room below a limit of its own: it tells nothing of other messages' room. */
export const hasOwnRoom = (lane: Lane, planned: PlannedQuota, now: number): boolean => {
  lane.quotaWindowMillis = Math.max(lane.quotaWindowMillis, planned.limit.windowMillis)
  return (
    fitsByBound(quotaFacts(lane, now, null), planned) || fitsExactly(count(lane, planned), planned)
  )
}

/** Takes room for the new messages if there is any; counts only where the bound cannot decide. */
export const hasRoom = (lane: Lane, planned: PlannedQuota, now: number): boolean => {
  lane.quotaWindowMillis = Math.max(lane.quotaWindowMillis, planned.limit.windowMillis)
  const facts = quotaFacts(lane, now, null)
  const exact = fitsByBound(facts, planned) ? null : countAndRemember(lane, planned, now)
  const fits = exact === null || quotaVerdict({ ...facts, exact }, planned)._tag === "Fits"
  if (fits) lane.fullUntil = fullUntilAfter(lane.fullUntil, planned)
  return fits
}

/** Everything planned within a window before `now` or later. */
const boundAt = (lane: Lane, now: number): number =>
  lane.counting.size -
  lane.counting.count(({ message }) => !isInBound(message.dueAt, now, lane.quotaWindowMillis))

/** A number's quota facts, without counting against a limit. */
export const quotaFacts = (lane: Lane, now: number, exact: ExactQuota | null): QuotaFacts => ({
  bound: boundAt(lane, now),
  fullUntil: lane.fullUntil,
  exact,
})
