/** Reminders, and the log of their runs. */
import { erasedAtOnce } from "@messaging-service/core"
import type {
  LastRun,
  LoggedRun,
  NewReminder,
  NumberId,
  Reminder,
  ReminderContent,
  ReminderId,
  ReminderRun,
  ReminderStore,
  RunCommit,
} from "@messaging-service/core"
import { Effect } from "effect"
import { isHeldUp, lockMillis } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  columnsOf,
  decoded,
  idOrNull,
  instant,
  integer,
  jsonb,
  jsonOf,
  newestFirst,
  paging,
  selected,
  text,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, given, joined, part, single, sqlFunction, statement } from "../database/Statement.ts"
import { acceptParameters, batchOf, toOutcome } from "../message/messages.ts"
import type { OutcomeRow } from "../message/messages.ts"
import { claimParameters } from "../request/idempotency.ts"
import { sqlFiles } from "../sql.generated.ts"
import { toWorkspace } from "../workspace/workspaces.ts"
import type { WorkspaceRow } from "../workspace/workspaces.ts"

// A reminder and a line of its log, as their tables keep them.

const contentFields = {
  name: { name: text((reminder) => reminder.name) },
  active: { active: boolean((reminder) => reminder.active) },
  to: { recipient: jsonb((reminder) => reminder.to) },
  from: { number_id: bigint((reminder) => reminder.from) },
  text: { text: text((reminder) => reminder.text) },
  media: { media: jsonb((reminder) => reminder.media) },
  cron: { cron: text((reminder) => reminder.cron) },
  timezone: { timezone: text((reminder) => reminder.timezone) },
} satisfies FieldsOf<ReminderContent>

const contentColumns = columnsOf(contentFields)

const newFields = {
  workspaceId: { workspace_id: bigint((reminder) => reminder.workspaceId) },
  mode: { mode: text((reminder) => reminder.mode) },
  nextRunAt: { next_run_at: instant((reminder) => reminder.nextRunAt) },
  createdAt: { created_at: instant((reminder) => reminder.createdAt) },
  ...contentFields,
} satisfies FieldsOf<NewReminder>

/** What is written of a new reminder. */
const newColumns = columnsOf(newFields)

const fields = {
  id: { id: bigint((reminder) => reminder.id) },
  ...newFields,
  revision: { revision: bigint((reminder) => reminder.revision) },
} satisfies FieldsOf<Omit<Reminder, "lastRun">>

const lastFields = {
  dueAt: { due_at: instant((run) => run.dueAt) },
  outcome: { outcome: text((run) => run.outcome) },
  messageId: { message_id: bigint((run) => run.messageId) },
  code: { code: text((run) => run.code) },
} satisfies FieldsOf<LastRun>

/**
 * The columns of a reminder, to select from the table of that alias, with the latest line of the
 * log. Index reminder_runs_by_reminder.
 */
export const reminderColumns = (alias: string): string =>
  `${selected(columnsOf(fields), alias)}, (
    select ${jsonOf(lastFields, "l")}
    from reminder_runs l
    where l.reminder_id = ${alias}.id
    order by l.id desc
    limit 1
  ) as "lastRun"`

const toRest = decoded<Omit<Reminder, "lastRun">>(fields)

export const toReminder = (row: Pick<Reminder, "lastRun">): Reminder => ({
  ...toRest(row),
  lastRun: row.lastRun,
})

const runFields = {
  id: { id: bigint((run) => run.id) },
  ranAt: { ran_at: instant((run) => run.ranAt) },
  ...lastFields,
} satisfies FieldsOf<LoggedRun>

const toRun = decoded<LoggedRun>(runFields)

const insert = call(
  "reminder.insert",
  sqlFunction(
    "insert_reminder",
    joined(part("reminder", single(newColumns, "p_")), claimParameters),
  ),
)

const scope = { workspaceId: bigint, mode: text, restriction: bigints }

const getReminder = statement(
  "reminder.get",
  given({ ...scope, id: bigint }),
)(sqlFiles["statements/reminder/get-reminder.sql"])

const madeReminder = statement("reminder.made", given({ id: bigint }))`
select ${reminderColumns("r")}, r.original
from reminders r
where r.id = $id`

/** Index reminders_by_activity for those that are active or not, reminders_by_workspace for all. */
const listReminders = (ofMode: string, ofActivity: string) =>
  statement("reminder.list", given({ ...scope, ...paging, active: boolean }))`
select ${reminderColumns("r")}
from reminders r
where r.workspace_id = $workspaceId${ofMode}
  and ($restriction::bigint[] is null or r.number_id = any ($restriction))
  and r.removed_at is null${ofActivity}
  and ${newestFirst("r")}`

const ofMode = "\n  and r.mode = $mode"
const ofActivity = "\n  and r.active = $active"
const lists = {
  ofAll: { all: listReminders("", ""), narrowed: listReminders("", ofActivity) },
  ofMode: { all: listReminders(ofMode, ""), narrowed: listReminders(ofMode, ofActivity) },
}

const updateReminder = statement(
  "reminder.update",
  joined(
    given({ id: bigint, revision: bigint, nextRunAt: instant }),
    part("content", single(contentColumns)),
  ),
)(sqlFiles["statements/reminder/update-reminder.sql"])

const removeReminder = statement(
  "reminder.remove",
  given({ ...scope, id: bigint, now: instant }),
)(sqlFiles["statements/reminder/remove-reminder.sql"])

const dueReminders = statement(
  "reminder.due",
  given({ now: instant, limit: integer }),
)(sqlFiles["statements/reminder/due-reminders.sql"])

/** A reminder's advance to its next due time. */
const advanceColumns = columnsOf({
  id: { r_id: bigint((run) => run.id) },
  revision: { r_revision: bigint((run) => run.revision) },
  dueAt: { r_due_at: instant((run) => run.dueAt) },
  ranAt: { r_ran_at: instant((run) => run.ranAt) },
  nextRunAt: { r_next_run_at: instant((run) => run.nextRunAt) },
} satisfies FieldsOf<ReminderRun>)

const run = call(
  "reminder.run",
  sqlFunction(
    "run_reminder",
    joined(part("advance", single(advanceColumns)), part("batch", acceptParameters)),
  ),
)

const passRun = statement(
  "reminder.pass",
  joined(single(advanceColumns), given({ outcome: text, code: text })),
)(sqlFiles["statements/reminder/pass-run.sql"])

const listRuns = statement(
  "reminder.runs",
  given({ id: bigint, ...paging }),
)(sqlFiles["statements/reminder/list-runs.sql"])

/** The core's `isRunForgotten`. Index reminder_runs_by_reminder. */
export const isRunForgotten = (line: string, before: string): string => `${line}.ran_at < ${before}
    and (
      exists (
        select
        from reminder_runs n
        where n.reminder_id = ${line}.reminder_id
          and n.id > ${line}.id
      )
      or not exists (
        select
        from reminders r
        where r.id = ${line}.reminder_id
          and r.removed_at is null
      )
    )`

const forgetRuns = statement(
  "reminder.forgetRuns",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/reminder/forget-runs.sql"])

const forgetReminders = statement(
  "reminder.forget",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/reminder/forget-reminders.sql"])

type DueRow = Pick<Reminder, "lastRun"> &
  WorkspaceRow & { readonly next_run_at: Date | null; readonly previous_number_id: bigint | null }

export const reminderStore = (database: DatabaseService): typeof ReminderStore.Service => ({
  insert: (reminder, claim) =>
    Effect.map(insert.value<bigint>(database, { reminder, claim }), (id) =>
      id === null
        ? { _tag: "Broken", guard: "idempotency" }
        : {
            _tag: "Inserted",
            reminder: {
              ...reminder,
              id: Number(id) as ReminderId,
              revision: 1,
              lastRun: null,
            },
          },
    ),
  get: (seenBy, id) => getReminder.first(database, { ...seenBy, id }, toReminder),
  made: (id) =>
    madeReminder.first(
      database,
      { id },
      (row: Pick<Reminder, "lastRun"> & { readonly original: ReminderContent | null }) => ({
        ...toReminder(row),
        ...row.original,
      }),
    ),
  list: (seenBy, { active }, page) =>
    lists[seenBy.mode === null ? "ofAll" : "ofMode"][active === null ? "all" : "narrowed"].page(
      database,
      seenBy.workspaceId,
      { ...seenBy, ...page, active },
      toReminder,
    ),
  update: (id, revision, content, nextRunAt) =>
    updateReminder.any(database, { id, revision, content, nextRunAt }),
  remove: (seenBy, id, now) => removeReminder.any(database, { ...seenBy, id, now }),
  due: (now, limit) =>
    dueReminders.all(database, { now, limit }, (row: DueRow) => ({
      reminder: toReminder(row),
      dueAt: row.next_run_at?.getTime() ?? now,
      previousNumberId: idOrNull<NumberId>(row.previous_number_id),
      workspace: toWorkspace(row),
    })),
  run: (acceptance, advance) =>
    run
      .rows<OutcomeRow<"reminder">>(database, { advance, batch: batchOf([acceptance], lockMillis) })
      .pipe(
        Effect.map(([row]): RunCommit =>
          row === undefined ? { _tag: "Broken", guard: "reminder" } : toOutcome(row),
        ),
        Effect.catchIf(isHeldUp, () => Effect.succeed<RunCommit>({ _tag: "HeldUp" })),
      ),
  pass: (advance, outcome) =>
    passRun.any(database, {
      ...advance,
      outcome: outcome?.outcome ?? null,
      code: outcome?.code ?? null,
    }),
  runs: (id, page) => listRuns.page(database, `reminder ${id}`, { ...page, id }, toRun),
  forget: (before) =>
    Effect.andThen(
      forgetRuns.untilDone(database, { before, limit: erasedAtOnce }),
      forgetReminders.untilDone(database, { before, limit: erasedAtOnce }),
    ),
})
