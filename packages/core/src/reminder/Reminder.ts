/**
 * A reminder: a message that is sent again and again, at the times of its pattern in its zone
 * (contract: Reminders); and the port that keeps reminders and the log of their runs. A run and the
 * advance of its reminder to the next due time are one commit, guarded by the reminder's revision: so
 * a due time makes one message at most, however many workers there are and wherever one of them dies.
 */
import { Context, Result } from "effect"
import type { Effect } from "effect"
import type { Code } from "../error/Catalogue.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MessageId, NumberId, ReminderId, WorkspaceId } from "../Ids.ts"
import type { CallerScope } from "../key/Caller.ts"
import type { MediaReference } from "../media/Media.ts"
import type { Acceptance, AcceptanceOutcome } from "../message/MessageStore.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Mode, Workspace } from "../workspace/Workspace.ts"
import { parseCron } from "./Cron.ts"
import { nextRunAfter } from "./Schedule.ts"
import type { ReminderSchedule } from "./Schedule.ts"
import { parseTimeZone } from "./TimeZone.ts"
import type { TimeZone } from "./TimeZone.ts"

/** Code points (contract: Reminders). */
export const maximumReminderNameLength = 100

/** How long the log of a reminder's runs can be looked at, and a deleted reminder is remembered. */
export const runsKeptMillis = 30 * 24 * 60 * 60 * 1000

/** What a request says of a reminder, and a change may change. */
export interface ReminderContent {
  readonly name: string
  /** False while it is paused. */
  readonly active: boolean
  /** As it was named; contacts are resolved at each run. */
  readonly to: RequestedRecipient
  /** Null: any connected number, at each run. */
  readonly from: NumberId | null
  readonly text: string
  readonly media: MediaReference | null
  /** As it was given: it is read again for each run. */
  readonly cron: string
  readonly timezone: TimeZone
}

/** These fields alone, of a record that has more. */
export const contentOf = (content: ReminderContent): ReminderContent => ({
  name: content.name,
  active: content.active,
  to: content.to,
  from: content.from,
  text: content.text,
  media: content.media,
  cron: content.cron,
  timezone: content.timezone,
})

/**
 * Whether a line of the log from before `before` is dropped: a reminder that was not deleted goes on
 * showing its latest run.
 */
export const isRunForgotten = (
  run: { readonly ranAt: number; readonly isLatest: boolean },
  reminder: { readonly removed: boolean },
  before: number,
): boolean => run.ranAt < before && (!run.isLatest || reminder.removed)

export interface Reminder extends ReminderContent {
  readonly id: ReminderId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** The due time of the next run (epoch milliseconds); null when paused, or when none ever comes. */
  readonly nextRunAt: number | null
  readonly createdAt: number
  /** Grows with each change and each run: a caller that decided on an older one decides again. */
  readonly revision: number
  /** What became of the latest due time that is over; null before the first. */
  readonly lastRun: LastRun | null
}

export interface LastRun {
  readonly dueAt: number
  readonly outcome: "accepted" | "refused" | "missed"
  /** Of the message that was accepted, else null. */
  readonly messageId: MessageId | null
  /** Why it was refused, else null. */
  readonly code: Code | null
}

/** A run to be committed, with the reminder's advance. */
export interface ReminderRun {
  readonly id: ReminderId
  /** Of the reminder that was decided on. If the stored one has changed, another worker was first. */
  readonly revision: number
  /** The due time that the run is made for, or that is passed over. */
  readonly dueAt: number
  readonly ranAt: number
  /** Null when no further run comes. */
  readonly nextRunAt: number | null
}

/** What is written of a run that makes no message. */
export type RunOutcome =
  | { readonly outcome: "refused"; readonly code: Code }
  /** Nothing ran when it was due, and it is too late to make it up. */
  | { readonly outcome: "missed"; readonly code: null }

/** A line of the reminder's log. */
export interface LoggedRun extends LastRun {
  readonly id: number
  readonly ranAt: number
}

/**
 * The schedule of a stored reminder; undefined when this process cannot read it, since its time zones
 * are older than those of the process that took it.
 */
export const scheduleOf = ({
  cron,
  timezone,
}: Pick<ReminderContent, "cron" | "timezone">): ReminderSchedule | undefined => {
  const pattern = Result.getOrUndefined(parseCron(cron))
  const zone = parseTimeZone(timezone)
  return pattern === undefined || zone === undefined ? undefined : { cron: pattern, timezone: zone }
}

/** The first run later than `after` of a reminder with that content; null when it is paused. */
export const firstRun = (
  content: Pick<ReminderContent, "active" | "cron" | "timezone">,
  after: number,
): number | null => {
  const schedule = content.active ? scheduleOf(content) : undefined
  return schedule === undefined ? null : nextRunAfter(schedule, after)
}

export type NewReminder = Omit<Reminder, "id" | "revision" | "lastRun">

/** Whose reminders: a limited key sees those that send from its numbers. */
export interface ReminderScope extends Omit<CallerScope, "mode"> {
  /** Null for the operator, who sees both. */
  readonly mode: Mode | null
}

export type ReminderInsertion =
  | { readonly _tag: "Inserted"; readonly reminder: Reminder }
  /** The claim was no longer held; nothing was written. */
  | { readonly _tag: "Broken"; readonly guard: "idempotency" }

export interface DueReminder {
  readonly reminder: Reminder
  /** Its `nextRunAt`. */
  readonly dueAt: number
  /** The number that its latest message was planned for; null before the first. */
  readonly previousNumberId: NumberId | null
  /** As it stands, deleted or not. */
  readonly workspace: Workspace
}

/**
 * `reminder`: it was changed, deleted or run meanwhile. `HeldUp`: another transaction, such as a caller's
 * own, held up for long what the run needs; nothing was written, and it stays due.
 */
export type RunCommit =
  | AcceptanceOutcome
  | { readonly _tag: "Broken"; readonly guard: "reminder" }
  | { readonly _tag: "HeldUp" }

export class ReminderStore
  extends /*#__PURE__*/ Context.Service<
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
