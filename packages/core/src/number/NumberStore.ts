/** What operators set for a number, and the port that keeps numbers. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { Callback } from "../event/MessageChange.ts"
import type { NumberId, WorkspaceId } from "../Ids.ts"
import type { QuotaLimit } from "../message/Message.ts"
import { stoppedUntil } from "../queue/Lane.ts"
import type { Pacing } from "./Pacing.ts"
import { pausedUntil } from "./SendingNumber.ts"
import type { ConnectionReason, NumberStatus, Pause, SendingNumber } from "./SendingNumber.ts"

// How a number's connection to the far side stands, and why (contract: Connection of a number).

/** `waiting`: between two tries to connect. */
export const connectionStates = ["connected", "connecting", "waiting", "disconnected"] as const

export type ConnectionState = (typeof connectionStates)[number]

/** What a process knows of a connection that it keeps. */
export interface ConnectionReport {
  readonly numberId: NumberId
  readonly state: ConnectionState
  readonly reason: ConnectionReason | null
  /** Since when it is in that state. */
  readonly since: number
  /** The last word of the far side; null when there was none. */
  readonly lastSeenAt: number | null
  /** How often it was opened again. */
  readonly reconnects: number
}

/** A report as it is kept. */
export interface KeptReport extends ConnectionReport {
  readonly reportedAt: number
}

/** What the store knows of a number's connection and of its lane. */
export interface ConnectionFacts {
  readonly number: SendingNumber
  /** Since when it has its status, and why; null when it never had another one. */
  readonly changed: { readonly at: number; readonly reason: ConnectionReason | null } | null
  /** The last one; null where connections are no process's own, or none has told yet. */
  readonly report: KeptReport | null
  /** Live messages that wait, the one that is handed out at the moment aside. */
  readonly waiting: number
  /** Sent in the window of the send cap. */
  readonly sent: number
  readonly lastSentAt: number | null
  readonly pause: Pause | null
  /** Its workspace is disabled. */
  readonly isDisabled: boolean
  /** A message is in the hands of a transport. */
  readonly isSending: boolean
  /** When the first message of the lane falls due; null when none waits. */
  readonly firstDueAt: number | null
  /** See `LaneDue`. */
  readonly restsUntil: number | null
  /** Until when its limits hold its first message back, as they stand now. */
  readonly limitedUntil: number | null
  /** Until when a disk without room for its file holds its first message back. */
  readonly noRoomUntil: number | null
}

/** A number's connection as an operator sees it. */
export interface Connection {
  readonly state: ConnectionState
  readonly reason: ConnectionReason | null
  readonly since: number
  readonly lastSeenAt: number | null
  /** Null also while it is paused until it is resumed. */
  readonly pausedUntil: number | null
  readonly reconnects: number
  readonly waiting: number
  /** When the next of them may leave; null when that is not known. */
  readonly nextSendAt: number | null
  readonly sent24h: number
}

/**
 * Since when a number has its status, and why, once it has got `status`: the status that it has already
 * says at most why.
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

/** How often a process says again how its connections stand, and after how long it is taken for dead. */
const reportMillis = 10_000
const reportLastsMillis = 45_000

/** Whether a report is to be kept in place of the one that was kept before, at that moment. */
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
 * Whether a disconnected number is tried again: it was lost for so long that it counts as disconnected, or
 * its process began with it after it dropped out. One that was logged out is tried no more; a process may
 * take a moment to notice.
 */
const comesBack = (
  { reason, since, state }: ConnectionReport,
  changed: ConnectionFacts["changed"],
): boolean => {
  if (state !== "waiting" && state !== "connecting") return false
  if (changed === null) return false
  return reason === changed.reason || (since >= changed.at && changed.reason !== "logged_out")
}

/** What is known of the connection itself. */
const standing = (
  { changed, number, report }: ConnectionFacts,
  now: number,
  keepsConnections: boolean,
): Pick<Connection, "state" | "reason" | "since"> => {
  const since = changed?.at ?? number.createdAt
  const said =
    keepsConnections && report !== null && report.reportedAt > now - reportLastsMillis
      ? report
      : null
  if (number.status === "disconnected" && !(said !== null && comesBack(said, changed))) {
    // Its status never changed, so it was never linked.
    return {
      state: "disconnected",
      reason: changed === null ? "not_linked" : changed.reason,
      since,
    }
  }
  if (number.status === "connecting") return { state: "connecting", reason: null, since }
  if (!keepsConnections) return { state: "connected", reason: null, since }
  if (said === null) {
    // Its process is gone, and no other has taken it over yet.
    return {
      state: "waiting",
      reason: "connection_lost",
      since: report === null ? since : Math.max(since, report.reportedAt),
    }
  }
  return { state: said.state, reason: said.reason, since: said.since }
}

/**
 * Reasons in place of which a pause or a disabled workspace is shown: there is no reason, it ends by
 * itself, or the state says it already. Any other has to be mended before they matter.
 */
const hiddenByStop: ReadonlyArray<ConnectionReason | null> = [null, "connection_lost", "not_linked"]

/**
 * Ends after which a Telegram account keeps what it has, for an operator who resumes it. Of others nothing
 * is kept.
 */
const keptEnds: ReadonlyArray<ConnectionReason | null> = ["banned", "restricted", "client_outdated"]

/** Whether the remote server has shut an account out, and nothing connects it: a login may take its place. */
export const isShutOut = (facts: ConnectionFacts, now: number): boolean => {
  const { reason, state } = standing(facts, now, true)
  return state === "disconnected" && keptEnds.includes(reason)
}

/** When the first message that waits may leave. */
const nextSendAt = (facts: ConnectionFacts, state: ConnectionState, now: number): number | null => {
  const { firstDueAt, isDisabled, isSending, pause } = facts
  if (state !== "connected" || isSending || firstDueAt === null) return null
  const stopped = stoppedUntil(pausedUntil(pause, now), isDisabled)
  const holds = [facts.restsUntil, facts.limitedUntil, facts.noRoomUntil, stopped]
  const moment = Math.max(now, firstDueAt, ...holds.map((until) => until ?? now))
  return Number.isFinite(moment) ? moment : null
}

/**
 * How a number's connection stands. A number that sends nothing because its workspace is disabled or
 * because it is paused shows that reason, unless its connection has ended for one that has to be mended
 * first. `keepsConnections`: its
 * transport has connections that processes keep and report; a simulated phone is connected when its
 * status says so.
 */
export const connectionOf = (
  facts: ConnectionFacts,
  now: number,
  keepsConnections: boolean,
): Connection => {
  const { isDisabled, lastSentAt, pause, report, sent, waiting } = facts
  const known = standing(facts, now, keepsConnections)
  const paused = pausedUntil(pause, now)
  const pauseReason = paused === null ? null : (pause?.reason ?? null)
  const stoppedBy = isDisabled ? "account_disabled" : pauseReason
  return {
    ...known,
    reason: hiddenByStop.includes(known.reason) ? (stoppedBy ?? known.reason) : known.reason,
    lastSeenAt: keepsConnections ? (report?.lastSeenAt ?? null) : lastSentAt,
    pausedUntil: paused === null || !Number.isFinite(paused) ? null : paused,
    reconnects: keepsConnections ? (report?.reconnects ?? 0) : 0,
    waiting,
    nextSendAt: nextSendAt(facts, known.state, now),
    sent24h: sent,
  }
}

/** A proxy that a number's connection goes through, as it is kept: its URL is sealed. */
export interface SealedProxy {
  readonly host: string
  readonly port: number
  /** See `proxyPlace`. */
  readonly url: string
}

/** What operators set for a number beside its label. */
export interface NumberSettings {
  /** Null: it is not paced. */
  readonly pacing: Pacing | null
  readonly proxy: SealedProxy | null
}

/** What is left out stays as it is. */
export interface NumberChange extends Partial<Pick<NumberSettings, "proxy">> {
  readonly label?: string
  readonly pacing?: Partial<Pacing>
}

/** What became of a number that was to be made unless it is there. */
export type NumberInsertion =
  | { readonly _tag: "Inserted"; readonly number: SendingNumber }
  /** The oldest that is the same. */
  | { readonly _tag: "Exists"; readonly id: NumberId }

/** Each number has one lane, made and removed with it. */
export class NumberStore extends Context.Service<
  NumberStore,
  {
    insert(
      number: Omit<SendingNumber, "id">,
      pacing?: Pacing | null,
    ): Effect.Effect<SendingNumber, StoreUnavailable>
    /**
     * As `insert`, unless another number of the workspace that was not removed is the same one
     * (`isSameNumber`). Of several at once that are the same, one is made.
     */
    insertNew(
      number: Omit<SendingNumber, "id">,
      pacing: Pacing | null,
    ): Effect.Effect<NumberInsertion, StoreUnavailable>
    /** Null when unknown, removed, or of another workspace. */
    get(
      workspaceId: WorkspaceId,
      id: NumberId,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /** Whatever its workspace; for the transports and the emulator. Null when unknown or removed. */
    find(id: NumberId): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * Where the number's connection is reported; null when nowhere, and when the number is unknown or
     * removed.
     */
    callbackUrl(id: NumberId): Effect.Effect<string | null, StoreUnavailable>
    /** Oldest first. */
    list(workspaceId: WorkspaceId): Effect.Effect<ReadonlyArray<SendingNumber>, StoreUnavailable>
    /** Those of the numbers that are known and not removed. */
    settings(
      ids: ReadonlyArray<NumberId>,
    ): Effect.Effect<ReadonlyMap<NumberId, NumberSettings>, StoreUnavailable>
    /**
     * Changes label, pacing and proxy; of changes at once none is lost. With another pacing the limits
     * of the lane are looked at anew; a rest that has begun goes on. Null when unknown, removed, or of
     * another workspace.
     */
    change(
      workspaceId: WorkspaceId,
      id: NumberId,
      change: NumberChange,
      now: number,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * The number connects, is being connected or drops out: its lane becomes claimable or rests, in
     * the same commit. `phone` undefined keeps the stored one. Any status but `connecting` ends the
     * attempt at linking it. The callback is written if the status really changes and the number is
     * still one that reports there. `reason` tells why it dropped out. Null when unknown or removed.
     */
    setStatus(
      id: NumberId,
      status: NumberStatus,
      phone: string | undefined,
      now: number,
      callback?: Callback | null,
      reason?: ConnectionReason | null,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * Removes the number and closes its lane: nothing new is accepted or claimed; its waiting
     * messages become orphaned, an attempt at linking it ends. False when unknown or already removed.
     */
    remove(
      workspaceId: WorkspaceId,
      id: NumberId,
      now: number,
    ): Effect.Effect<boolean, StoreUnavailable>
    /** All that tells of a number's connection. Null when unknown, removed, or of another workspace. */
    connection(
      workspaceId: WorkspaceId,
      id: NumberId,
      now: number,
      sendCap: QuotaLimit,
    ): Effect.Effect<ConnectionFacts | null, StoreUnavailable>
    /** Keeps how connections stand, as the worker knows it that has them. */
    reportConnections(
      reports: ReadonlyArray<ConnectionReport>,
      now: number,
    ): Effect.Effect<void, StoreUnavailable>
  }
>()("core/NumberStore") {}
