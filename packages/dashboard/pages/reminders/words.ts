/** The words of reminders. */
import type { ReminderRun } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"

export const remindersLabels = {
  title: "Reminders",
  about: "Messages sent on a schedule.",
  add: buttonNames.newReminder,
  caption: "Reminders, newest first",
  empty: "No reminders yet",
  emptyAbout: "A reminder sends a message on a schedule, such as every Monday at 9:00.",
  othersMake: "Owners and administrators can create them.",
  name: "Name",
  to: "To",
  schedule: "Schedule",
  next: "Next run",
  last: "Last run",
  paused: "paused",
  never: "none yet",
}

export const outcomeLabels: Readonly<Record<ReminderRun["outcome"], string>> = {
  accepted: "sent",
  refused: "rejected",
  missed: "missed",
}

export const reminderLabels = {
  newTitle: "New reminder",
  unnamed: (id: number) => `Reminder ${id}`,
  all: "All reminders",
  name: "Name",
  to: "To",
  toAbout: "Phone number with + and country code, or Telegram @username.",
  from: "From",
  any: "Any connected number",
  text: "Text",
  schedule: "Schedule",
  examples: "Examples",
  cron: "Cron schedule",
  cronAbout: "Minute, hour, day of month, month, day of week. * means every.",
  zone: "Time zone",
  zoneAbout: "The schedule uses this time zone.",
  next: "Next run",
  active: "Active",
  save: "Save",
  create: "Create reminder",
  saved: "Saved.",
  noPlan: "The plan does not include reminders. You can only pause and delete them.",
  pause: "Pause",
  resume: "Resume",
  run: "Run now",
  ran: "Run finished.",
  remove: "Delete",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: "It stops running. Messages it has created are kept.",
  isPaused: "This reminder is paused.",
  isActive: "This reminder is active.",
}

/** Examples of schedules. */
export const presets: ReadonlyArray<readonly [name: string, cron: string]> = [
  ["Daily at 9:00", "0 9 * * *"],
  ["Weekdays at 9:00", "0 9 * * 1-5"],
  ["Mondays at 9:00", "0 9 * * 1"],
  ["1st of the month at 9:00", "0 9 1 * *"],
  ["Hourly", "0 * * * *"],
]

export const previewLabels = {
  title: "Next runs",
  wait: "Loading…",
  nothing: "Enter a schedule to see its next ten runs.",
  moved: "moved: the clock change skips this time",
  repeated: "this time occurs twice (clock change)",
  clockChange: (from: string, to: string) => `Clocks change from ${from} to ${to}`,
  skipped: "Skipped by the clock change:",
}

export const runsLabels = {
  title: "Runs",
  about: "Runs are kept for 30 days.",
  caption: "Runs, newest first",
  due: "Due",
  outcome: "Outcome",
  message: "Message",
  why: "Reason",
  empty: "No runs yet",
  emptyAbout: "Each run appears here with its message, or the reason it sent none.",
  openMessage: (id: number) => `Message ${id}`,
}
