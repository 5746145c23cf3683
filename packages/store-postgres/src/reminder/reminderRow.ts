/** A reminder and a line of its log, as their tables keep them. */
import type {
  LastRun,
  LoggedRun,
  MessageId,
  NewReminder,
  NumberId,
  Reminder,
  ReminderContent,
  ReminderId,
  WorkspaceId,
} from "@messaging-service/core"
import {
  bigint,
  boolean,
  columnsOf,
  idOrNull,
  instant,
  jsonb,
  jsonOf,
  millis,
  selected,
  text,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"

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

export const contentColumns = columnsOf(contentFields)

/** What is written of a new reminder. */
export const newColumns = columnsOf({
  workspaceId: { workspace_id: bigint((reminder) => reminder.workspaceId) },
  mode: { mode: text((reminder) => reminder.mode) },
  nextRunAt: { next_run_at: instant((reminder) => reminder.nextRunAt) },
  createdAt: { created_at: instant((reminder) => reminder.createdAt) },
  ...contentFields,
} satisfies FieldsOf<NewReminder>)

const columns = {
  id: bigint((reminder: Reminder) => reminder.id),
  ...newColumns,
  revision: bigint((reminder: Reminder) => reminder.revision),
}

export type ReminderRow = RowOf<typeof columns> & Pick<Reminder, "lastRun">

const lastFields = {
  dueAt: { due_at: instant((run) => run.dueAt) },
  outcome: { outcome: text((run) => run.outcome) },
  messageId: { message_id: bigint((run) => run.messageId) },
  code: { code: text((run) => run.code) },
} satisfies FieldsOf<LastRun>

/**
 * The columns of a `ReminderRow`, to select from the table of that alias, with the latest line of the
 * log. Index reminder_runs_by_reminder.
 */
export const reminderColumns = (alias: string): string =>
  `${selected(columns, alias)}, (
    select ${jsonOf(lastFields, "l")}
    from reminder_runs l
    where l.reminder_id = ${alias}.id
    order by l.id desc
    limit 1
  ) as "lastRun"`

/** A reminder's content as JSON, by the names of `ReminderContent`. */
export const contentJson = (alias: string): string =>
  jsonOf(contentFields, alias, "jsonb_build_object")

export const toReminder = (row: ReminderRow): Reminder => ({
  id: Number(row.id) as ReminderId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode,
  name: row.name,
  active: row.active,
  to: row.recipient,
  from: idOrNull<NumberId>(row.number_id),
  text: row.text,
  media: row.media,
  cron: row.cron,
  timezone: row.timezone,
  nextRunAt: millis(row.next_run_at),
  createdAt: row.created_at.getTime(),
  revision: Number(row.revision),
  lastRun: row.lastRun,
})

export const runColumns = columnsOf({
  id: { id: bigint((run) => run.id) },
  ranAt: { ran_at: instant((run) => run.ranAt) },
  ...lastFields,
} satisfies FieldsOf<LoggedRun>)

export const toRun = (row: RowOf<typeof runColumns>): LoggedRun => ({
  id: Number(row.id),
  dueAt: row.due_at.getTime(),
  ranAt: row.ran_at.getTime(),
  outcome: row.outcome,
  messageId: idOrNull<MessageId>(row.message_id),
  code: row.code,
})
