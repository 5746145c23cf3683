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
  repeat: "Repeats",
  weekday: "Day",
  monthDay: "Day of the month",
  monthDayAbout: (day: number) =>
    day > 28 ? `Months without ${ordinalDay(day)} have no run.` : "",
  time: "Time",
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
  pausedNow: "Paused. It has no runs until you resume it.",
  removeAbout: "It stops running. Messages it has created are kept. This cannot be undone.",
  isPaused: "This reminder is paused.",
  isActive: "This reminder is active.",
}

/** What a schedule says. */
export const scheduleTexts = {
  daily: (time: string, _day: string) => `Every day at ${time}`,
  weekdays: (time: string, _day: string) => `On weekdays at ${time}`,
  weekly: (time: string, day: string) => `Every ${day} at ${time}`,
  monthly: (time: string, day: string) => `Monthly on ${day} at ${time}`,
}

/** The ways to repeat, as the form offers them. */
export const repeatLabels = {
  daily: "Every day at",
  weekdays: "On weekdays at",
  weekly: "Every week on",
  monthly: "Monthly on",
  custom: "Custom",
}

/** By their place in a cron pattern. */
export const dayNames = [
  "Sunday",
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
]

export const ordinalDay = (day: number): string => {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[day > 10 && day < 14 ? 0 : day % 10] ?? "th"
  return `the ${day}${ending}`
}

export const previewLabels = {
  title: "Next runs",
  wait: "Loading…",
  nothing: "Enter a schedule to see its next ten runs.",
  days: (days: number) => (days === 0 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`),
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
