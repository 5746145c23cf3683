/**
 * A reminder: a message that is sent again and again, at the times of its pattern in its zone
 * (contract: Reminders).
 */
import { Result, Schema } from "effect"
import { IdJson, TimeJson } from "../answer/Json.ts"
import type { Code } from "../error/Catalogue.ts"
import { refuse } from "../error/Refusal.ts"
import type { MessageId, NumberId, ReminderId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import { MediaReferenceJson } from "../media/Media.ts"
import type { MediaReference } from "../media/Media.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"
import { described } from "../request/Described.ts"
import { formatInstant } from "../time/Instant.ts"
import { parseCron } from "./Cron.ts"
import { nextRunAfter } from "./Schedule.ts"
import type { ReminderSchedule } from "./Schedule.ts"
import { formatInZone, parseTimeZone } from "./TimeZone.ts"
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

export interface Reminder extends ReminderContent {
  readonly id: ReminderId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** The due time of the next run (epoch milliseconds); null when paused, or when none ever comes. */
  readonly nextRunAt: number | null
  readonly createdAt: number
  /** Grows with each change and each run: who decided on an older one decides again. */
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

/** How a run can end. */
export const RunOutcomeJson = described(
  Schema.Literals(["accepted", "refused", "missed"]),
  "`missed`: nothing ran when it was due, and it was too late to make it up.",
)

const LastRunJson = Schema.Struct({
  due_at: TimeJson,
  outcome: RunOutcomeJson,
  message_id: described(Schema.NullOr(IdJson), "Of the message that was accepted."),
  error: described(
    Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String })),
    "Why it was refused, with a code of the error catalogue.",
  ),
}).annotate({ identifier: "LastRun" })

const RequestedJson = Schema.Union([
  Schema.Struct({ phone: Schema.String }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contact_id: IdJson }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "ReminderRecipient" })

/** The Reminder object (contract: Reminders). */
export const ReminderJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("ReminderId")),
  name: Schema.String,
  active: described(Schema.Boolean, "False when paused."),
  to: RequestedJson,
  from: Schema.NullOr(IdJson),
  text: Schema.String,
  media: Schema.NullOr(MediaReferenceJson),
  schedule: Schema.Struct({ cron: Schema.String, timezone: Schema.String }),
  next_run_at: described(
    Schema.NullOr(Schema.String.annotate({ format: "date-time" })),
    "In the reminder's time zone, with its offset; null when paused.",
  ),
  created_at: TimeJson,
  last_run: described(
    Schema.NullOr(LastRunJson),
    "What became of the latest run; null before the first.",
  ),
}).annotate({ identifier: "Reminder" })

export type ReminderJson = typeof ReminderJson.Type

const requestedJson = (to: RequestedRecipient): typeof RequestedJson.Type => {
  switch (to.kind) {
    case "phone":
      return { phone: to.phone }
    case "group":
      return { group: to.group }
    case "contact":
      return { contact_id: to.contactId }
    case "username":
      return { username: to.username.given }
  }
}

/** The reminder as answers show it: recipient and media as they were referred to. */
export const reminderJson = (reminder: Reminder): ReminderJson => ({
  id: reminder.id,
  name: reminder.name,
  active: reminder.active,
  to: requestedJson(reminder.to),
  from: reminder.from,
  text: reminder.text,
  media:
    reminder.media === null
      ? null
      : {
          media_id: reminder.media.mediaId,
          url: reminder.media.url,
          type: reminder.media.type,
          file_name: reminder.media.fileName,
        },
  schedule: { cron: reminder.cron, timezone: reminder.timezone },
  next_run_at:
    reminder.nextRunAt === null ? null : formatInZone(reminder.nextRunAt, reminder.timezone),
  created_at: formatInstant(reminder.createdAt),
  last_run: reminder.lastRun === null ? null : lastRunJson(reminder.lastRun),
})

const lastRunJson = ({ code, dueAt, messageId, outcome }: LastRun): typeof LastRunJson.Type => ({
  due_at: formatInstant(dueAt),
  outcome,
  message_id: messageId,
  error: code === null ? null : { code, message: refuse(code).message },
})
