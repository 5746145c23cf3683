/** Reminders: messages on a schedule. */
import type { Reminder } from "@messaging-service/client"
import {
  any,
  between,
  command,
  count,
  flag,
  id,
  many,
  maybe,
  once,
  placeOptions,
  text,
  workspace,
} from "../Command.ts"
import type { NextRun } from "../nextRuns.ts"
import { limit, listed } from "./lists.ts"
import { callerLists, callerShows, fieldsOf, operatorShows } from "./rows.ts"
import { content, contentOf, recipient, recipientText } from "./messages.ts"

/** An active reminder without a next run is held since a restore, or its zone is no longer known. */
const nextRunText = ({ active, last_run, next_run_at }: Reminder): string => {
  if (next_run_at !== null) return next_run_at
  if (!active) return "paused"
  return last_run?.error?.code === "invalid_timezone"
    ? "none: unknown zone"
    : "held since a restore"
}

const columns = [
  "id",
  "name",
  ["to", ({ to }: Reminder) => recipientText(to)],
  ["cron", ({ schedule }: Reminder) => schedule.cron],
  ["zone", ({ schedule }: Reminder) => schedule.timezone],
  ["next run", nextRunText],
  ["last run", ({ last_run }: Reminder) => last_run && `${last_run.due_at} ${last_run.outcome}`],
] as const

const runColumns = [
  ["due", "due_at"],
  ["ran", "ran_at"],
  "outcome",
  ["message", "message_id"],
  "code",
] as const

const nextRunColumns = [
  ["due", "due_at"],
  ["id", ({ reminder: { id: number } }: NextRun) => number],
  ["name", ({ reminder: { name } }: NextRun) => name],
  ["to", ({ reminder: { to } }: NextRun) => recipientText(to)],
] as const

const reminder = { id: once(id("reminder")) }

const setActive = (words: string, summary: string, active: boolean) =>
  command({
    words,
    as: "key or operator",
    summary,
    arguments: reminder,
    options: placeOptions,
    run: async (given, { caller, output }) =>
      output.one(await caller().reminders.update(given.id, { active }), columns),
  })

export const reminderCommands = [
  command({
    words: "reminders create",
    as: "key or operator",
    summary: "Creates a message on a schedule.",
    options: {
      ...placeOptions,
      name: once(text("NAME", "Up to 100 characters.")),
      to: once(recipient),
      ...content,
      cron: once(text("CRON", "Five fields: minute, hour, day of month, month, day of week.")),
      timezone: maybe(
        text("ZONE", "The zone of these times, such as Europe/London. Default: UTC."),
      ),
      from: maybe(count("ID", "The sending number. Default: any connected one.")),
      paused: flag("Creates it paused."),
    },
    run: async (given, tools) => {
      const { text: words = "", media } = await contentOf(given, tools, { needsText: true })
      const made = await tools.caller().reminders.create({
        name: given.name,
        to: given.to,
        text: words,
        ...(media === undefined ? {} : { media }),
        schedule: fieldsOf({ cron: given.cron, timezone: given.timezone }),
        ...fieldsOf({ from: given.from }),
        active: !given.paused,
      })
      tools.output.one(made, columns)
    },
  }),
  callerLists(
    "reminders list",
    "reminders.list",
    "Lists reminders, each with its next run.",
    columns,
    { active: flag("Without paused ones.") },
  ),
  command({
    words: "reminders next",
    as: "key or operator",
    summary: "Shows the next runs of all active reminders, or of the given ones, soonest first.",
    about:
      "The service reports the first run of each; the program computes later runs from the current schedule.",
    arguments: { id: any(id("reminder")) },
    options: { ...placeOptions, count: maybe(count("COUNT", "How many runs; 5.")) },
    run: async ({ count: most = 5, id: named }, { caller, output }) => {
      const { reminders } = caller()
      const found: Array<Reminder> = []
      for (const each of named) found.push(await reminders.get(each))
      if (named.length === 0) {
        for await (const each of reminders.list({ active: true, limit: 100 })) found.push(each)
      }
      // The schedule parser is nearly as large as the rest of the program.
      const { soonestRuns } = await import("../nextRuns.ts")
      await output.all(soonestRuns(found), nextRunColumns, most)
    },
  }),
  callerShows("reminders get", "reminder", "reminders.get", "Shows a reminder."),
  setActive("reminders pause", "Pauses a reminder.", false),
  setActive("reminders resume", "Resumes a paused reminder from its next due time.", true),
  callerShows("reminders delete", "reminder", "reminders.delete", "Deletes reminders.", many),
  command({
    words: "reminders preview",
    as: "operator",
    summary: "Shows the runs that a schedule would have from now on.",
    about: "`moved` and `repeated` runs are those that a change of the clocks concerns.",
    arguments: {
      cron: once(text("CRON", "Five fields: minute, hour, day of month, month, day of week.")),
    },
    options: {
      workspace,
      timezone: maybe(text("ZONE", "The zone of these times. Default: UTC.")),
      count: maybe(between(1, 50, "COUNT", "How many runs, up to 50; 10.")),
    },
    run: async ({ cron, timezone, count: most, workspace: inside }, { operator, output }) => {
      const asked = { schedule: fieldsOf({ cron, timezone }), ...fieldsOf({ count: most }) }
      const { data } = await operator().reminders.preview(inside, asked)
      await output.all(data, [["local time", "local"], "at", ["clock", "mark"]])
    },
  }),
  operatorShows(
    "reminders run",
    "reminder",
    "reminders.run",
    "Runs a reminder now. Its schedule goes on as before.",
    runColumns,
  ),
  command({
    words: "reminders runs",
    as: "operator",
    summary: "Shows the runs of a reminder: their messages, or why they sent nothing.",
    arguments: reminder,
    options: { workspace, ...limit },
    run: ({ id: of, workspace: inside, ...given }, { operator, output }) =>
      listed(given, output, runColumns, (page) => operator().reminders.runs(inside, of, page)),
  }),
]
