/**
 * What is erased, and when: ended messages after their workspace's retention, and everything of a
 * deleted workspace. Rules decide here; the port finds the rows and deletes them, at most 500 in a
 * statement. Housekeeping runs it.
 */
import { Clock, Context, Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../Ids.ts"
import { claimantsWithoutKey } from "../key/Caller.ts"
import { answerKeptMillis } from "../request/Idempotency.ts"
import { dayMillis } from "../request/RateWindow.ts"
import type { Workspace } from "./Workspace.ts"

/** Days that a retention may last. */
export const retentionDaysMost = 3_650

/** Rows that one statement erases at most, so that none holds locks for long. */
export const erasedAtOnce = 500

/** `RETENTION_DAYS`: the retention of every workspace; null keeps messages until their workspace ends. */
export const RetentionDays = Context.Reference<number | null>("core/RetentionDays", {
  defaultValue: () => null,
})

/** Ended test messages of a workspace that are kept at most, whatever its retention. */
export const TestMessagesKept = Context.Reference<number>("core/TestMessagesKept", {
  defaultValue: () => 1_000_000,
})

/** The days that hold for a workspace: the lower of the service's and its own. Null: no limit. */
export const retentionDaysOf = (service: number | null, own: number | null): number | null =>
  service === null || own === null ? (service ?? own) : Math.min(service, own)

/** What outlives its removal for a while. */
export interface RemovalsKept {
  readonly now: number
  /** Webhook endpoints that were removed before are erased: no repeat of a request shows them. */
  readonly endpointsBefore: number
  /** Sessions of numbers that were removed before go, though the far side never heard of it. */
  readonly sessionsBefore: number
}

/** A live transport gives up by then: see `endingSessions`. */
const sessionsKeptMillis = 31 * dayMillis

/** What a round of housekeeping needs to know of a workspace. */
export type RetainedWorkspace = Pick<Workspace, "id" | "retentionDays" | "deletedAt">

/** Which messages of a workspace go, with their events and the log of their deliveries. */
export interface EndedBefore {
  readonly workspaceId: WorkspaceId
  /** Epoch milliseconds; what ended then or later stays. */
  readonly endedBefore: number
}

/**
 * What of a workspace has outlived its retention; null where nothing is to go. Of a deleted workspace
 * everything has, once it ended.
 */
export const outlived = (
  workspace: RetainedWorkspace,
  service: number | null,
  now: number,
): EndedBefore | null => {
  if (workspace.deletedAt !== null) return { workspaceId: workspace.id, endedBefore: Infinity }
  const days = retentionDaysOf(service, workspace.retentionDays)
  if (days === null) return null
  return { workspaceId: workspace.id, endedBefore: now - days * dayMillis }
}

export interface DeletedWorkspace {
  readonly id: WorkspaceId
  /** Whose idempotency keys go with it, beside its keys'. */
  readonly claimants: ReadonlyArray<number>
}

export class ErasureStore
  extends /*#__PURE__*/ Context.Service<
    ErasureStore,
    {
      /** By ascending id, those above `after`. Deleted workspaces that are erased are left out. */
      workspaces(
        after: number,
        limit: number,
      ): Effect.Effect<ReadonlyArray<RetainedWorkspace>, StoreUnavailable>
      /**
       * Erases, of each workspace, the messages that ended before its moment, the events made and the
       * deliveries attempted before it, and which recipients its numbers first wrote to before it. An
       * event that is still to be delivered stays until a later call.
       */
      eraseEnded(workspaces: ReadonlyArray<EndedBefore>): Effect.Effect<void, StoreUnavailable>
      /** Erases the oldest of each workspace's ended test messages, so that at most `most` are left. */
      eraseTestMessages(
        workspaces: ReadonlyArray<WorkspaceId>,
        most: number,
      ): Effect.Effect<void, StoreUnavailable>
      /**
       * Erases of removed numbers label, phone, addresses, proxy and recipients, once no message waits
       * in them (a message shows its number's phone until it ends; a session is logged out through its
       * proxy), and what first answers have shown of them; of revoked keys name and last address; of removed webhook endpoints all but ids and times.
       */
      eraseRemoved(kept: RemovalsKept): Effect.Effect<void, StoreUnavailable>
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
  >()("core/ErasureStore") {}

/** Workspaces that are looked at together. */
const together = 500

/** One round. */
export const makeErasure = Effect.gen(function* () {
  const store = yield* ErasureStore
  const service = yield* RetentionDays
  const testMessagesKept = yield* TestMessagesKept
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* store.eraseRemoved({
      now,
      endpointsBefore: now - answerKeptMillis,
      sessionsBefore: now - sessionsKeptMillis,
    })
    let after = 0
    for (;;) {
      const workspaces = yield* store.workspaces(after, together)
      const ended = workspaces.flatMap((workspace) => outlived(workspace, service, now) ?? [])
      if (ended.length > 0) yield* store.eraseEnded(ended)
      const kept = workspaces.filter(({ deletedAt }) => deletedAt === null)
      yield* store.eraseTestMessages(
        kept.map(({ id }) => id),
        testMessagesKept,
      )
      const deleted = workspaces.flatMap(({ deletedAt, id }) =>
        deletedAt === null ? [] : { id, claimants: claimantsWithoutKey(id) },
      )
      if (deleted.length > 0) yield* store.eraseDeleted(deleted, now)
      const last = workspaces.at(-1)
      if (last === undefined || workspaces.length < together) return
      after = last.id
    }
  })
})
