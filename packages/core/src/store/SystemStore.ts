/**
 * What the store keeps of the service as a whole: its secrets, its epochs since restores, and the
 * transactions of callers that a send or a cancel can join.
 */
import { Data, Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { MessageId, NumberId, WorkspaceId } from "../model/Ids.ts"
import type { Message } from "../model/Message.ts"
import type { Reminder } from "../model/Reminder.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"

// A backup or a lagging standby takes the store back in time, which begins an epoch. Earlier ids
// may be known outside, so new ids skip them. What waited may have left, so it is held until an
// operator releases it.

/** How far ids move on at least when an epoch begins: more than a backup's age gives out. */
export const idsSkipped = 1_048_576

export interface Epoch {
  /** From 1, the one before any restore. */
  readonly epoch: number
  /** Whether it has accepted a message. Of the first epoch it says nothing. */
  readonly hasAccepted: boolean
}

/** Whether another epoch may begin without a word that it is meant. */
export const mayStartEpoch = ({ epoch, hasAccepted }: Epoch): boolean => epoch === 1 || !hasAccepted

export interface HeldFilter {
  readonly from: NumberId | null
  /** Created at or after. */
  readonly since: number | null
  /** Created before. */
  readonly until: number | null
  /** Messages planned at or before; reminders are not asked. */
  readonly dueUntil: number | null
}

/** Messages that a process has seen since its last look, and that the store must know. */
export interface ObservedMessages {
  /** Accepted, and committed. */
  readonly accepted: ReadonlyArray<MessageId>
  /** Ended, and committed. */
  readonly ended: ReadonlyArray<MessageId>
}

/** How far ids of a kind have come. */
interface IdPosition {
  /** The highest that may have been given out. */
  readonly given: number
  /** The highest of a commit. */
  readonly highest: number
}

/** Why a commit that was acknowledged could be lost with the server that acknowledged it. */
export const storeRisks = ["asynchronous_commit", "asynchronous_standby"] as const

export type StoreRisk = (typeof storeRisks)[number]

/** A number that an open transaction of a caller's holds, having cancelled a message of it. */
export interface HeldNumber {
  readonly numberId: NumberId
  /** Tells one transaction from others. */
  readonly transaction: string
}

/** How far a shared store has come. */
export interface StorePosition {
  readonly epoch: number
  readonly messages: IdPosition
  readonly events: IdPosition
  /** Tells one start of a server from others. */
  readonly server: string
  readonly risks: ReadonlyArray<StoreRisk>
  readonly heldByCallers: ReadonlyArray<HeldNumber>
  /** The first of the accepted messages that is not there; null when all are. */
  readonly missing: MessageId | null
  /** The first of the ended messages that waits; null when none does. */
  readonly waitsAgain: MessageId | null
}

/** Which of what a workspace holds. Ids name messages; reminders are found by filters alone. */
export type HeldSelection =
  | { readonly ids: ReadonlyArray<MessageId> }
  | { readonly filter: HeldFilter }

export interface HeldCount {
  readonly workspaceId: WorkspaceId
  readonly messages: number
  readonly reminders: number
  /** That wait for the row to go on from; their messages are theirs alone. */
  readonly campaigns: number
}

/** A reminder that was due when the epoch began. */
export interface HeldReminder {
  readonly reminder: Reminder
  /** When that run was due. */
  readonly dueAt: number
}

export interface RestoreStore {
  readonly epoch: Effect.Effect<Epoch, StoreUnavailable>
  /**
   * Begins the epoch after `epoch`. Ids of every kind move on by `idsSkipped`, and beyond
   * `above`. Waiting messages, test ones too, and due reminders are held; earlier leases are
   * void.
   *
   * In-flight messages are not held: each stays first in its lane, due at once, with
   * `maximumInterruptions`. Messages of removed numbers are left to be cancelled. Returns the new
   * epoch; null when another one began meanwhile.
   */
  startEpoch(command: {
    readonly epoch: number
    readonly above: number
    readonly now: number
  }): Effect.Effect<number | null, StoreUnavailable>
  /** Of each workspace that has any, by its id. */
  readonly heldCounts: Effect.Effect<ReadonlyArray<HeldCount>, StoreUnavailable>
  /** Newest first, of both modes. */
  listHeld(
    workspaceId: WorkspaceId,
    page: PageQuery,
  ): Effect.Effect<PageOf<Message>, StoreUnavailable>
  /** Those of the selection that are held, oldest first. */
  heldMessages(
    workspaceId: WorkspaceId,
    selection: HeldSelection,
    limit: number,
  ): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
  /** Oldest first. */
  heldReminders(
    workspaceId: WorkspaceId,
    filter: HeldFilter,
    limit: number,
  ): Effect.Effect<ReadonlyArray<HeldReminder>, StoreUnavailable>
  /**
   * The messages leave like any others from now on, in the order in which they fell due; those of one
   * workspace. Returns the ids of those that were held.
   */
  releaseHeld(
    messages: ReadonlyArray<Message>,
    now: number,
  ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable>
  isHeld(id: MessageId): Effect.Effect<boolean, StoreUnavailable>
  /** Null for a store inside this process, which nothing restores under it. */
  position(observed: ObservedMessages): Effect.Effect<StorePosition | null, StoreUnavailable>
}

/**
 * A transaction of the caller, on the service's database, that the caller ends. A client of `pg`
 * fits. For others, wrap one function that runs a statement with values for `$1`, `$2` …:
 * `{ query: async (text, values) => ({ rows: await sql.unsafe(text, values) }) }`.
 */
export interface TransactionClient {
  query(
    text: string,
    values: Array<string | null>,
  ): Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

/** The transaction cannot be joined; `message` says why. */
export class CannotJoin extends Data.TaggedError("CannotJoin")<{ readonly message: string }> {}

export interface CallersTransactions {
  /**
   * Joins `Messages.send`, `Messages.sendBatch` or a joined `Messages.cancel`, and nothing else, to
   * the transaction. The message leaves, or is cancelled, with the caller's commit; a refusal leaves
   * the transaction usable, and undoes what was joined.
   *
   * Until it ends, a send locks the sending number, and the workspace if its plan counts messages.
   * Other sends and outcomes of these wait; other numbers proceed. A cancel holds its number's lane,
   * which sends nothing meanwhile. The server ends a transaction that idles for 5 seconds. One
   * transaction runs one call at a time; others queue.
   *
   * Fails with `CannotJoin` when the transaction cannot be joined. Fails with `StoreUnavailable`
   * when a statement fails; only the joined part is undone. Dies when the store has no such
   * transactions.
   */
  joinTransaction<A, E, R>(
    client: TransactionClient,
    effect: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | StoreUnavailable | CannotJoin, R>
}

/** For a store that only this process writes to. */
export const noCallersTransactions: CallersTransactions = {
  joinTransaction: () =>
    Effect.die(new Error("only a store on PostgreSQL can send inside a caller's transaction")),
}

// The port that keeps what belongs to the service itself under a name: what the secrets key must match,
// and what it seals (`Secrets`). Nothing in it is of use without that key.

export interface ServiceSecrets {
  /** The stored value, or `candidate`, stored now; the same for every process that asks. */
  getOrCreateSecret(name: string, candidate: string): Effect.Effect<string, StoreUnavailable>
  /** The stored value, null when there is none. */
  getSecret(name: string): Effect.Effect<string | null, StoreUnavailable>
  /** Keeps `value` under `name` if it still holds `before`. */
  replaceSecret(name: string, before: string, value: string): Effect.Effect<void, StoreUnavailable>
}
