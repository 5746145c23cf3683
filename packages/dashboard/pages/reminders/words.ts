/** The words of reminders. */
import type { ReminderRun } from "@messaging-service/client"
import { buttonNames } from "../ui/words.ts"

export const remindersLabels = {
  title: "Reminders",
  about: "The same message at every time of a schedule.",
  add: buttonNames.newReminder,
  caption: "Reminders, the newest first",
  empty: "No reminder yet",
  emptyAbout:
    "A reminder sends one message at each time of its schedule, such as every Monday at nine.",
  othersMake: "Owners and administrators of this workspace make them.",
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
  refused: "refused",
  missed: "missed",
}

export const reminderLabels = {
  newTitle: "New reminder",
  unnamed: (id: number) => `Reminder ${id}`,
  all: "All reminders",
  name: "Name",
  to: "To",
  toAbout: "A phone with + and country code, or a Telegram username with @.",
  from: "From",
  any: "Any connected number",
  text: "Text",
  schedule: "Schedule",
  examples: "Begin with",
  cron: "Pattern",
  cronAbout: "Minute, hour, day of the month, month, day of the week. * is every one.",
  zone: "Time zone",
  zoneAbout: "Times of the pattern are this zone’s.",
  next: "Next run",
  active: "Runs at the times of its schedule",
  save: "Save",
  create: "Make the reminder",
  saved: "Saved.",
  noPlan: "The plan has no reminders: you can pause and delete them, and change nothing else.",
  pause: "Pause",
  resume: "Resume",
  run: "Run now",
  ran: "The reminder ran.",
  remove: "Delete",
  removeTitle: (name: string) => `Delete ${name}?`,
  removeAbout: "It runs no more. Messages that it sent stay.",
  isPaused: "This reminder is paused.",
  isActive: "This reminder runs at the times of its schedule.",
}

/** Patterns to begin with. */
export const presets: ReadonlyArray<readonly [name: string, cron: string]> = [
  ["Every day at nine", "0 9 * * *"],
  ["Every working day at nine", "0 9 * * 1-5"],
  ["Every Monday at nine", "0 9 * * 1"],
  ["On the first of every month", "0 9 1 * *"],
  ["Every hour", "0 * * * *"],
]

export const previewLabels = {
  title: "Next runs",
  wait: "Asking…",
  nothing: "The next ten runs appear here while you write the pattern.",
  moved: "moved: the clocks skip its time",
  repeated: "the clocks show this time twice",
  clockChange: (from: string, to: string) => `Clocks change from ${from} to ${to}`,
  skipped: "No run at these times, which the clocks skip:",
}

export const runsLabels = {
  title: "Runs",
  about: "Runs are kept for 30 days.",
  caption: "Runs, the newest first",
  due: "Due",
  outcome: "Outcome",
  message: "Message",
  why: "Why",
  empty: "No run yet",
  emptyAbout: "Each run appears here with its message, or with the reason why there is none.",
  openMessage: (id: number) => `Message ${id}`,
}
