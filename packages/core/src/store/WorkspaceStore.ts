/** What the store keeps of workspaces, and what it erases of them. */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import type { Pacing } from "../model/Pacing.ts"
import { isSameNumber } from "../model/SendingNumber.ts"
import type { SendingNumber } from "../model/SendingNumber.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { Admits, Plan, Workspace } from "../model/Workspace.ts"

/** Rows that one statement erases at most, so that none holds locks for long. */
export const erasedAtOnce = 500

/** What outlives its removal for a while. */
export interface RemovalsKept {
  readonly now: number
  /** Webhook endpoints that were removed before are erased: no repeat of a request shows them. */
  readonly endpointsBefore: number
  /** Sessions of numbers that were removed before go, though the remote server never heard of it. */
  readonly sessionsBefore: number
}

/** What a round of housekeeping needs to know of a workspace. */
export type RetainedWorkspace = Pick<Workspace, "id" | "retentionDays" | "deletedAt">

/** Which messages of a workspace go, with their events and the log of their deliveries. */
export interface EndedBefore {
  readonly workspaceId: WorkspaceId
  /** Epoch milliseconds; what ended then or later stays. */
  readonly endedBefore: number
}

export interface DeletedWorkspace {
  readonly id: WorkspaceId
  /** Keyless owners of idempotency keys to erase with it. */
  readonly claimants: ReadonlyArray<number>
}

export interface ErasureStore {
  /** By ascending id, those above `after`. Deleted workspaces that are erased are left out. */
  retainedWorkspaces(
    after: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<RetainedWorkspace>, StoreUnavailable>
  /**
   * Erases, of each workspace, the messages and number checks that ended before its moment, the events
   * made and the deliveries attempted before it, what is kept of reminders that were deleted before it,
   * all but ids, times and counts of campaigns that ended before it, which are unknown from then on,
   * and which recipients its numbers first wrote to before it. An
   * event that is still to be delivered stays until a later call. A row of a campaign keeps the status
   * of its erased message.
   */
  eraseEnded(workspaces: ReadonlyArray<EndedBefore>): Effect.Effect<void, StoreUnavailable>
  /** Erases the oldest of each workspace's ended test messages, so that at most `max` are left. */
  eraseTestMessages(
    workspaces: ReadonlyArray<WorkspaceId>,
    max: number,
  ): Effect.Effect<void, StoreUnavailable>
  /**
   * Erases of removed numbers label, phone, addresses, proxy and recipients, once no message waits
   * in them (a message shows its number's phone until it ends; a session is logged out through its
   * proxy), and what first answers have shown of them; of revoked keys name and last address; of removed webhook endpoints all but ids and times.
   */
  eraseRemoved(retention: RemovalsKept): Effect.Effect<void, StoreUnavailable>
  /**
   * Erases everything else of deleted workspaces but ids, times and counts. `workspaces` names a
   * workspace again until nothing of it waits or is in a worker's hands. Each comes with its
   * claimants of idempotency keys that have no key.
   */
  eraseDeleted(
    workspaces: ReadonlyArray<DeletedWorkspace>,
    now: number,
  ): Effect.Effect<void, StoreUnavailable>
}

// The port that keeps workspaces.

export type NewWorkspace = Omit<Workspace, "id" | "deletedAt">

/** The fields that change; `plan` is replaced as a whole. */
export type WorkspaceChange = Partial<
  Pick<Workspace, "name" | "demo" | "accountDisabled" | "apiV2Enabled" | "plan" | "retentionDays">
>

/** A number that a workspace is to have, as it is made where it is missing. */
export interface RequestedNumber {
  readonly number: Omit<SendingNumber, "id" | "workspaceId">
  readonly pacing: Pacing | null
}

/**
 * The wanted numbers that a workspace lacks (see `isSameNumber`), each once; null where its plan has no
 * room for them. A workspace without a plan, or with an unlimited one, may add numbers.
 */
export const missingNumbers = (
  requested: ReadonlyArray<RequestedNumber>,
  present: ReadonlyArray<RequestedNumber["number"]>,
  plan: Plan | null,
): ReadonlyArray<RequestedNumber> | null => {
  const missing: Array<RequestedNumber> = []
  for (const one of requested) {
    const isThere = [...present, ...missing.map(({ number }) => number)].some((other) =>
      isSameNumber(other, one.number),
    )
    if (!isThere) missing.push(one)
  }
  const room = (plan?.maxNumbers ?? Infinity) - present.length
  return missing.length > 0 && missing.length > room ? null : missing
}

export interface WorkspaceStore {
  /** `admits` is stored with the workspace for `KeyStore`: does a request with its key count? */
  insert(workspace: NewWorkspace, admits: Admits): Effect.Effect<Workspace, StoreUnavailable>
  /**
   * The oldest workspace of that name, which is made as given when there is none, with those of the
   * numbers added that it lacks (by platform, mode and phone); whatever else it has stays as it is.
   * Null, with nothing written, where its plan has no room for them (`missingNumbers`).
   * One atomic step: however many processes call it at once, there is one workspace, and each number
   * once.
   */
  ensure(
    workspace: NewWorkspace,
    admits: Admits,
    numbers: ReadonlyArray<RequestedNumber>,
  ): Effect.Effect<Workspace | null, StoreUnavailable>
  /** Null when unknown or deleted. */
  get(id: WorkspaceId): Effect.Effect<Workspace | null, StoreUnavailable>
  /** Newest first, deleted ones left out. */
  list(query: PageQuery): Effect.Effect<PageOf<Workspace>, StoreUnavailable>
  /**
   * Reads, applies `decide` and writes in one atomic step, so that no concurrent change is lost.
   * Null when unknown or deleted. Once `accountDisabled` is true nothing of the workspace leaves:
   * its lanes are due no more (see `stoppedUntil`) nor are its test messages. Once it is false
   * again, they are.
   */
  update(
    id: WorkspaceId,
    decide: (current: Workspace) => {
      readonly change: WorkspaceChange
      readonly admits: Admits
    },
    now: number,
  ): Effect.Effect<Workspace | null, StoreUnavailable>
  /**
   * Marks it deleted: its keys no longer admit, every lane of its numbers is removed (no further
   * claim, no further acceptance). Its waiting messages become orphaned (`MessageStore.orphaned`).
   * False when unknown or already deleted.
   */
  delete(id: WorkspaceId, now: number): Effect.Effect<boolean, StoreUnavailable>
  /** Whether no workspace was ever made. */
  isEmpty: Effect.Effect<boolean, StoreUnavailable>
}

/** The port that keeps what the secrets of callbacks are made from. It holds no rule. */
export interface CallbackSalts {
  /** The workspace's; null while none was ever put, and for an unknown or deleted workspace. */
  callbackSalt(workspaceId: WorkspaceId): Effect.Effect<string | null, StoreUnavailable>
  /**
   * Replaces it: attempts claimed from now on are signed with the new one. False when the workspace
   * is unknown or deleted.
   */
  putCallbackSalt(workspaceId: WorkspaceId, salt: string): Effect.Effect<boolean, StoreUnavailable>
}
