/**
 * A reminder: a message that is sent again and again, at the times of its pattern in its zone
 * (contract: Reminder; decisions: Reminders).
 */
import { Result } from "effect"
import type { NumberId, ReminderId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import type { MediaReference } from "../media/Media.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"
import { formatInstant } from "../time/Instant.ts"
import { parseCron } from "./Cron.ts"
import { nextRunAfter } from "./Schedule.ts"
import type { ReminderSchedule } from "./Schedule.ts"
import { formatInZone, parseTimeZone } from "./TimeZone.ts"
import type { TimeZone } from "./TimeZone.ts"

/** Code points (contract: Limits). */
export const maximumReminderNameLength = 100

/** What a request says of a reminder, and a change may change. */
export interface ReminderContent {
  readonly name: string
  /** False while it is paused. */
  readonly active: boolean
  /** As it was named; contacts are resolved at each run. */
  readonly to: RequestedRecipient
  /** Null: the number that POST /messages without `from` would use, at each run. */
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

const requestedJson = (to: RequestedRecipient): Readonly<Record<string, unknown>> => {
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
export const reminderJson = (reminder: Reminder) => ({
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
})

export type ReminderJson = ReturnType<typeof reminderJson>
