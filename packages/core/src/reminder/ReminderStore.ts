/**
 * The port that keeps reminders and the log of their runs. A run and the advance of its reminder to
 * the next due time are one commit, guarded by the reminder's revision: so a due time makes one
 * message at most, however many workers there are and wherever one of them dies.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, ReminderId, WorkspaceId } from "../id/Ids.ts"
import type { Mode, Restriction } from "../key/ApiKey.ts"
import type { Acceptance, AcceptanceOutcome } from "../message/MessageStore.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { Reminder, ReminderContent } from "./Reminder.ts"
import type { LoggedRun, ReminderRun, RunOutcome } from "./ReminderRun.ts"

export type NewReminder = Omit<Reminder, "id" | "revision" | "lastRun">

/** Whose reminders: a limited key sees those that send from its numbers. */
export interface ReminderScope {
  readonly workspaceId: WorkspaceId
  /** Null for the operator, who sees both. */
  readonly mode: Mode | null
  readonly restriction: Restriction
}

export type ReminderInsertion =
  | { readonly _tag: "Inserted"; readonly reminder: Reminder }
  /** The claim was no longer held; nothing was written. */
  | { readonly _tag: "Broken"; readonly guard: "idempotency" }

export interface DueReminder {
  readonly reminder: Reminder
  /** Its `nextRunAt`. */
  readonly dueAt: number
  /** That its latest message was to leave from; null before the first. */
  readonly previousNumberId: NumberId | null
  /** As it stands, deleted or not. */
  readonly workspace: Workspace
}

/** `reminder`: it was changed, deleted or run meanwhile. */
export type RunCommit = AcceptanceOutcome | { readonly _tag: "Broken"; readonly guard: "reminder" }

export class ReminderStore extends Context.Service<
  ReminderStore,
  {
    /** Finishes the claim. Guard: it is still held. The first revision is 1. */
    insert(
      reminder: NewReminder,
      idempotency: IdempotencyClaim | null,
    ): Effect.Effect<ReminderInsertion, StoreUnavailable>
    get(scope: ReminderScope, id: ReminderId): Effect.Effect<Reminder | null, StoreUnavailable>
    /**
     * With the content that it was made with, also when it was changed or deleted since; for the
     * repeat of its creation. Its `nextRunAt` and `lastRun` say nothing.
     */
    made(id: ReminderId): Effect.Effect<Reminder | null, StoreUnavailable>
    /** Newest first. */
    list(
      scope: ReminderScope,
      filter: { readonly active: boolean | null },
      page: PageQuery,
    ): Effect.Effect<PageOf<Reminder>, StoreUnavailable>
    /**
     * Replaces content and next run. Guard: the reminder is there and has that revision still, which
     * then grows by one; false when not.
     */
    update(
      id: ReminderId,
      revision: number,
      content: ReminderContent,
      nextRunAt: number | null,
    ): Effect.Effect<boolean, StoreUnavailable>
    /** False when unknown. `now` is when it is deleted. */
    remove(
      scope: ReminderScope,
      id: ReminderId,
      now: number,
    ): Effect.Effect<boolean, StoreUnavailable>
    /** Those whose next run has come; the longest due first. */
    due(now: number, limit: number): Effect.Effect<ReadonlyArray<DueReminder>, StoreUnavailable>
    /**
     * Writes an acceptance of one message as `MessageStore.accept` does, and with it the advance to
     * the next run and the log's line; or nothing. Guards: the revision (`reminder`), then those of
     * `accept`.
     */
    run(acceptance: Acceptance, run: ReminderRun): Effect.Effect<RunCommit, StoreUnavailable>
    /**
     * Advances without a message, with a line in the log unless `outcome` is null. Guard: the
     * revision; false when it is another.
     */
    pass(run: ReminderRun, outcome: RunOutcome | null): Effect.Effect<boolean, StoreUnavailable>
    /** The log, newest first. */
    runs(id: ReminderId, page: PageQuery): Effect.Effect<PageOf<LoggedRun>, StoreUnavailable>
    /**
     * Drops lines of the log from before `before`, but a reminder's latest, and reminders that were
     * deleted before.
     */
    forget(before: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/ReminderStore") {}
