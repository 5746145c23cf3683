/** The port that stores numbers, with their settings and the state of their connections. */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { Callback } from "../model/MessageChange.ts"
import type { EventId, NumberEventIds, NumberId, WorkspaceId } from "../model/Ids.ts"
import type { ExactQuota, QuotaLimit } from "../model/Message.ts"
import { stoppedUntil } from "../model/Lane.ts"
import type { Pacing } from "../model/Pacing.ts"
import type { Restrictions } from "../model/Restrictions.ts"
import { pausedUntil } from "../model/SendingNumber.ts"
import type {
  ConnectionReason,
  NumberStatus,
  Pause,
  SendingNumber,
} from "../model/SendingNumber.ts"

// The state of a number's connection to the remote, and its reason (contract: Connection of a
// number).

/** `waiting`: between two tries to connect. */
export const connectionStates = ["connected", "connecting", "waiting", "disconnected"] as const

export type ConnectionState = (typeof connectionStates)[number]

/** A process's report on a connection that it keeps. */
export interface ConnectionReport {
  readonly numberId: NumberId
  readonly state: ConnectionState
  readonly reason: ConnectionReason | null
  /** Start of that state. */
  readonly since: number
  /** When the remote last said anything; null for never. */
  readonly lastSeenAt: number | null
  /** How often it reconnected. */
  readonly reconnects: number
}

/** A stored report. */
export interface StoredReport extends ConnectionReport {
  readonly reportedAt: number
}

/** What the store knows of a number's connection and lane. */
export interface ConnectionFacts {
  readonly number: SendingNumber
  /** When and why its status last changed; null for never. */
  readonly changed: { readonly at: number; readonly reason: ConnectionReason | null } | null
  /** The latest report; null where no process keeps connections or none reported yet. */
  readonly report: StoredReport | null
  /** Waiting live messages, except the one in flight. */
  readonly waiting: number
  /** Messages sent in the send cap's window. */
  readonly sent: number
  readonly lastSentAt: number | null
  readonly pause: Pause | null
  /** Whether its workspace is disabled. */
  readonly isDisabled: boolean
  /** Whether a transport has one of its messages, as far as a worker's lease says. */
  readonly isSending: boolean
  /** When the first message of the lane is due; null when none waits. */
  readonly firstDueAt: number | null
  /** See `LaneDue`. */
  readonly pacedUntil: number | null
  /** Rate-limited until this time, by the current limits. */
  readonly limitedUntil: number | null
  /** The disk lacked room for its first message's file, or the file; it is tried again then. */
  readonly noRoomUntil: number | null
}

/** What a number sent, and how much it may still send. */
export interface NumberActivity {
  readonly facts: ConnectionFacts
  /** Whether one more message would fit now (contract: Quota). */
  readonly quota: ExactQuota
  /** Sent live messages in each of the last 24 hours, oldest first. */
  readonly hours: ReadonlyArray<number>
}

/** A number's connection, as operators see it. */
export interface Connection {
  readonly state: ConnectionState
  readonly reason: ConnectionReason | null
  readonly since: number
  readonly lastSeenAt: number | null
  /** Null also for a pause without end. */
  readonly pausedUntil: number | null
  readonly reconnects: number
  readonly waiting: number
  /** When the next of them may leave; null when unknown. */
  readonly nextSendAt: number | null
  readonly sent24h: number
}

/**
 * The change record of a number that gets `status`. If the status is the same, at most the reason
 * changes.
 */
export const changedTo = (
  before: Pick<ConnectionFacts, "changed"> & { readonly number: Pick<SendingNumber, "status"> },
  status: SendingNumber["status"],
  reason: ConnectionReason | null,
  now: number,
): ConnectionFacts["changed"] => {
  const { changed, number } = before
  if (number.status !== status) return { at: now, reason }
  if (reason === null) return changed
  return { at: changed?.at ?? now, reason }
}

/** Since when a number that gets `status` is not connected; null while it is, and before it was for the first time. */
export const awaySinceAfter = (
  before: { readonly status: SendingNumber["status"]; readonly awaySince: number | null },
  status: SendingNumber["status"],
  now: number,
): number | null => {
  if (status === "connected") return null
  return before.status === "connected" ? now : before.awaySince
}

/** How often a process repeats its reports, and after how long it counts as dead. */
const reportMillis = 10_000
const reportLastsMillis = 45_000

/** Whether a report replaces the stored one at that time. */
export const shouldReplace = (
  report: ConnectionReport,
  before: { readonly report: ConnectionReport; readonly at: number } | undefined,
  now: number,
): boolean =>
  before === undefined ||
  // The clock may have been set back.
  Math.abs(now - before.at) >= reportMillis ||
  before.report.state !== report.state ||
  before.report.reason !== report.reason ||
  before.report.since !== report.since ||
  before.report.reconnects !== report.reconnects

/**
 * Whether a disconnected number is being retried: it was lost for long, or its process started with
 * it disconnected. Logged-out numbers are not retried; their process may need a moment to notice.
 */
const comesBack = (
  { reason, since, state }: ConnectionReport,
  changed: ConnectionFacts["changed"],
): boolean => {
  if (state !== "waiting" && state !== "connecting") return false
  if (changed === null) return false
  return reason === changed.reason || (since >= changed.at && changed.reason !== "logged_out")
}

/** The state of the connection alone. */
const standing = (
  { changed, number, report }: ConnectionFacts,
  now: number,
  poolsConnections: boolean,
): Pick<Connection, "state" | "reason" | "since"> => {
  const since = changed?.at ?? number.createdAt
  const said =
    poolsConnections && report !== null && report.reportedAt > now - reportLastsMillis
      ? report
      : null
  if (number.status === "disconnected" && !(said !== null && comesBack(said, changed))) {
    // Its status never changed: it was never linked.
    return {
      state: "disconnected",
      reason: changed === null ? "not_linked" : changed.reason,
      since,
    }
  }
  if (number.status === "connecting") return { state: "connecting", reason: null, since }
  if (!poolsConnections) return { state: "connected", reason: null, since }
  if (said === null) {
    // Its process is gone, and no other has taken over yet.
    return {
      state: "waiting",
      reason: "connection_lost",
      since: report === null ? since : Math.max(since, report.reportedAt),
    }
  }
  return { state: said.state, reason: said.reason, since: said.since }
}

/**
 * Reasons that a pause or disabled workspace replaces: they end by themselves or the state implies
 * them. Other reasons must be fixed first, so they stay visible.
 */
const hiddenByStop: ReadonlyArray<ConnectionReason | null> = [null, "connection_lost", "not_linked"]

/** Reasons that keep a Telegram session, for an operator to resume. Others discard it. */
const resumableEnds: ReadonlyArray<ConnectionReason | null> = [
  "banned",
  "restricted",
  "client_outdated",
]

/** Whether the remote has shut the account out and nothing connects it: a login may replace it. */
export const isShutOut = (facts: ConnectionFacts, now: number): boolean => {
  const { reason, state } = standing(facts, now, true)
  return state === "disconnected" && resumableEnds.includes(reason)
}

/** When the first waiting message may leave. */
const nextSendAt = (facts: ConnectionFacts, state: ConnectionState, now: number): number | null => {
  const { firstDueAt, isDisabled, isSending, pause } = facts
  if (state !== "connected" || isSending || firstDueAt === null) return null
  const stopped = stoppedUntil(pausedUntil(pause, now), isDisabled)
  const blocks = [facts.pacedUntil, facts.limitedUntil, facts.noRoomUntil, stopped]
  const instant = Math.max(now, firstDueAt, ...blocks.map((until) => until ?? now))
  return Number.isFinite(instant) ? instant : null
}

/**
 * The state of a number's connection. A pause or disabled workspace is its reason, unless the
 * connection itself has one to fix first. `poolsConnections`: processes keep and report its
 * connections; a simulated phone is connected when its status says so.
 */
export const toConnection = (
  facts: ConnectionFacts,
  now: number,
  poolsConnections: boolean,
): Connection => {
  const { isDisabled, lastSentAt, pause, report, sent, waiting } = facts
  const known = standing(facts, now, poolsConnections)
  const paused = pausedUntil(pause, now)
  const pauseReason = paused === null ? null : (pause?.reason ?? null)
  const stoppedBy = isDisabled ? "account_disabled" : pauseReason
  return {
    ...known,
    reason: hiddenByStop.includes(known.reason) ? (stoppedBy ?? known.reason) : known.reason,
    lastSeenAt: poolsConnections ? (report?.lastSeenAt ?? null) : lastSentAt,
    pausedUntil: paused === null || !Number.isFinite(paused) ? null : paused,
    reconnects: poolsConnections ? (report?.reconnects ?? 0) : 0,
    waiting,
    nextSendAt: nextSendAt(facts, known.state, now),
    sent24h: sent,
  }
}

/** A stored proxy; its URL is sealed. */
export interface SealedProxy {
  readonly host: string
  readonly port: number
  /** Sealed for `proxyContext`. */
  readonly url: string
}

/** Operators' settings of a number, except its label. */
export interface NumberSettings {
  /** Null: it is not paced. */
  readonly pacing: Pacing | null
  readonly proxy: SealedProxy | null
}

/** Absent fields stay unchanged. */
export interface NumberChange extends Partial<Pick<NumberSettings, "proxy">> {
  readonly label?: string
  readonly pacing?: Partial<Pacing>
}

/** The result of an insert unless present. */
export type NumberInsertion =
  | { readonly _tag: "Inserted"; readonly number: SendingNumber }
  /** The oldest that is the same. */
  | { readonly _tag: "Exists"; readonly id: NumberId }
  /** The workspace holds as many as it may (`ownsAllNumbers`). */
  | { readonly _tag: "Full" }

/** Each number has one lane, created and removed with it. */
export interface NumberStore {
  insert(
    number: Omit<SendingNumber, "id">,
    pacing?: Pacing | null,
  ): Effect.Effect<SendingNumber, StoreUnavailable>
  /**
   * As `insert`, unless the workspace has the same number (`isSameNumber`), not removed.
   * Concurrent calls create one.
   */
  insertNew(
    number: Omit<SendingNumber, "id">,
    pacing: Pacing | null,
    limit: number | null,
  ): Effect.Effect<NumberInsertion, StoreUnavailable>
  /** Null when unknown, removed, or of another workspace. */
  get(workspaceId: WorkspaceId, id: NumberId): Effect.Effect<SendingNumber | null, StoreUnavailable>
  /** In any workspace; for the transports and the emulator. Null when unknown or removed. */
  find(id: NumberId): Effect.Effect<SendingNumber | null, StoreUnavailable>
  /** The number's callback address; null for none, or when unknown or removed. */
  callbackUrl(id: NumberId): Effect.Effect<string | null, StoreUnavailable>
  /** Oldest first. */
  list(workspaceId: WorkspaceId): Effect.Effect<ReadonlyArray<SendingNumber>, StoreUnavailable>
  /** Omits unknown and removed numbers. */
  settings(
    ids: ReadonlyArray<NumberId>,
  ): Effect.Effect<ReadonlyMap<NumberId, NumberSettings>, StoreUnavailable>
  /**
   * Changes label, pacing and proxy; concurrent changes are all kept. New pacing applies to the
   * lane's limits at once, except to a running rest. Null when unknown, removed, or of another
   * workspace.
   */
  change(
    workspaceId: WorkspaceId,
    id: NumberId,
    change: NumberChange,
    now: number,
  ): Effect.Effect<SendingNumber | null, StoreUnavailable>
  /**
   * Sets the status and makes the lane claimable or not, in one commit. An undefined `phone`
   * keeps the stored one. Any status but `connecting` ends a linking attempt. The callback is
   * written if the status changes and the number still reports there. `reason` says why it
   * disconnected. `events`: ids of what is reported where conversations are on (see `statusReport`,
   * `pauseReport`). Null when unknown or removed.
   */
  setStatus(
    id: NumberId,
    status: NumberStatus,
    phone: string | undefined,
    now: number,
    callback?: Callback | null,
    reason?: ConnectionReason | null,
    events?: NumberEventIds,
  ): Effect.Effect<SendingNumber | null, StoreUnavailable>
  /**
   * Removes the number and closes its lane. Its waiting messages become orphaned, and a linking
   * attempt ends. False when unknown or already removed.
   */
  remove(
    workspaceId: WorkspaceId,
    id: NumberId,
    now: number,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** All facts of a number's connection. Null when unknown, removed, or of another workspace. */
  connection(
    workspaceId: WorkspaceId,
    id: NumberId,
    now: number,
    dailyLimit: QuotaLimit,
  ): Effect.Effect<ConnectionFacts | null, StoreUnavailable>
  /** The connections of the workspace's numbers, oldest first. */
  connections(
    workspaceId: WorkspaceId,
    now: number,
    dailyLimit: QuotaLimit,
    limit: number,
  ): Effect.Effect<ReadonlyArray<NumberActivity>, StoreUnavailable>
  /**
   * Stores what the platform lets the number do, while its workspace has conversations, and the event
   * of the change in that commit (`restrictionReport`). False while they are off, and when unknown or
   * removed. They are erased with the number, and once conversations are off. `extraMillis`: how much longer
   * than a new restriction messages to new recipients wait (see `newChatsUntil`), where the workspace holds them.
   */
  restrict(
    id: NumberId,
    restrictions: Restrictions,
    now: number,
    eventId: EventId,
    extraMillis: number,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** As stored; null when nothing is, also when unknown, removed, or of another workspace. */
  restrictions(
    workspaceId: WorkspaceId,
    id: NumberId,
  ): Effect.Effect<Restrictions | null, StoreUnavailable>
  /** Stores the states of a worker's connections. */
  reportConnections(
    reports: ReadonlyArray<ConnectionReport>,
    now: number,
  ): Effect.Effect<void, StoreUnavailable>
}
