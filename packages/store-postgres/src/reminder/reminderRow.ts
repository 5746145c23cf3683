/** A reminder and a line of its log, as their tables keep them. */
import type {
  Code,
  LastRun,
  LoggedRun,
  MediaReference,
  MessageId,
  Mode,
  NumberId,
  Reminder,
  ReminderContent,
  ReminderId,
  RequestedRecipient,
  TimeZone,
  WorkspaceId,
} from "@messaging-service/core"

export interface ReminderRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly mode: string
  readonly number_id: bigint | null
  readonly name: string
  readonly active: boolean
  readonly recipient: RequestedRecipient
  readonly text: string
  readonly media: MediaReference | null
  readonly cron: string
  readonly timezone: string
  readonly next_run_at: Date | null
  readonly created_at: Date
  readonly revision: bigint
  readonly last_run: LastRun | null
}

const columns = [
  "id",
  "workspace_id",
  "mode",
  "number_id",
  "name",
  "active",
  "recipient",
  "text",
  "media",
  "cron",
  "timezone",
  "next_run_at",
  "created_at",
  "revision",
] as const satisfies ReadonlyArray<keyof ReminderRow>

/** The columns of a `ReminderRow`, to select from the table of that alias. */
export const reminderColumns = (alias: string): string =>
  `${columns.map((name) => `${alias}.${name}`).join(", ")}, ${lastRun(alias)} as last_run`

/** The latest line of the log. Index reminder_runs_by_reminder. */
const lastRun = (alias: string): string => `(
    select json_build_object(
      'dueAt', (extract(epoch from l.due_at) * 1000)::bigint,
      'outcome', l.outcome,
      'messageId', l.message_id,
      'code', l.code
    )
    from reminder_runs l
    where l.reminder_id = ${alias}.id
    order by l.id desc
    limit 1
  )`

/** A reminder's content as JSON, by the names of `ReminderContent`. */
export const contentJson = (alias: string): string => `jsonb_build_object(
  'name', ${alias}.name,
  'active', ${alias}.active,
  'to', ${alias}.recipient,
  'from', ${alias}.number_id,
  'text', ${alias}.text,
  'media', ${alias}.media,
  'cron', ${alias}.cron,
  'timezone', ${alias}.timezone
)`

export const toReminder = (row: ReminderRow): Reminder => ({
  id: Number(row.id) as ReminderId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  name: row.name,
  active: row.active,
  to: row.recipient,
  from: row.number_id === null ? null : (Number(row.number_id) as NumberId),
  text: row.text,
  media: row.media,
  cron: row.cron,
  timezone: row.timezone as TimeZone,
  nextRunAt: row.next_run_at === null ? null : row.next_run_at.getTime(),
  createdAt: row.created_at.getTime(),
  revision: Number(row.revision),
  lastRun: row.last_run,
})

export type MadeRow = ReminderRow & { readonly original: ReminderContent | null }

export interface RunRow {
  readonly id: bigint
  readonly due_at: Date
  readonly ran_at: Date
  readonly message_id: bigint | null
  readonly outcome: string
  readonly code: string | null
}

export const toRun = (row: RunRow): LoggedRun => ({
  id: Number(row.id),
  dueAt: row.due_at.getTime(),
  ranAt: row.ran_at.getTime(),
  outcome: row.outcome as LoggedRun["outcome"],
  messageId: row.message_id === null ? null : (Number(row.message_id) as MessageId),
  code: row.code as Code | null,
})
