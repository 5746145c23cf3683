/** A reminder and a line of its log, as their tables keep them. */
import type {
  LastRun,
  LoggedRun,
  NewReminder,
  Reminder,
  ReminderContent,
} from "@messaging-service/core"
import {
  bigint,
  boolean,
  columnsOf,
  decoded,
  instant,
  jsonb,
  jsonOf,
  selected,
  text,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"

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

const newFields = {
  workspaceId: { workspace_id: bigint((reminder) => reminder.workspaceId) },
  mode: { mode: text((reminder) => reminder.mode) },
  nextRunAt: { next_run_at: instant((reminder) => reminder.nextRunAt) },
  createdAt: { created_at: instant((reminder) => reminder.createdAt) },
  ...contentFields,
} satisfies FieldsOf<NewReminder>

/** What is written of a new reminder. */
export const newColumns = columnsOf(newFields)

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

export const toRun = decoded<LoggedRun>(runFields)
