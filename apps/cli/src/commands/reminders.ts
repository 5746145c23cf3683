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
  targetOptions,
  text,
  workspace,
} from "../Command.ts"
import type { NextRun } from "../nextRuns.ts"
import { limit, listed } from "./lists.ts"
import { callerLists, callerDetail, toFields, operatorDetail } from "./rows.ts"
import { content, getContent, recipient, recipientText } from "./messages.ts"

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
  ["last run", ({ last_run }: Reminder) => last_run && [last_run.due_at, last_run.outcome]],
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

const setActive = (name: string, summary: string, active: boolean) =>
  command({
    name,
    as: "key or operator",
    summary,
    arguments: reminder,
    options: targetOptions,
    run: async (input, { caller, output }) =>
      output.one(await caller().reminders.update(input.id, { active }), columns),
  })

export const reminderCommands = [
  command({
    name: "reminders create",
    as: "key or operator",
    summary: "Creates a message on a schedule.",
    options: {
      ...targetOptions,
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
    run: async (input, tools) => {
      const { text: tokens = "", media } = await getContent(input, tools, { needsText: true })
      const created = await tools.caller().reminders.create({
        name: input.name,
        to: input.to,
        text: tokens,
        ...(media === undefined ? {} : { media }),
        schedule: toFields({ cron: input.cron, timezone: input.timezone }),
        ...toFields({ from: input.from }),
        active: !input.paused,
      })
      tools.output.one(created, columns)
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
    name: "reminders next",
    as: "key or operator",
    summary: "Shows the next runs of all active reminders, or of the given ones, soonest first.",
    about:
      "The service reports the first run of each; the program computes later runs from the current schedule.",
    arguments: { id: any(id("reminder")) },
    options: { ...targetOptions, count: maybe(count("COUNT", "How many runs; 5.")) },
    run: async ({ count: max = 5, id: named }, { caller, output }) => {
      const { reminders } = caller()
      const found: Array<Reminder> = []
      for (const each of named) found.push(await reminders.get(each))
      if (named.length === 0) {
        for await (const each of reminders.list({ active: true, limit: 100 })) found.push(each)
      }
      // The schedule parser is nearly as large as the rest of the program.
      const { soonestRuns } = await import("../nextRuns.ts")
      await output.all(soonestRuns(found), nextRunColumns, max)
    },
  }),
  callerDetail("reminders get", "reminder", "reminders.get", "Shows a reminder."),
  setActive("reminders pause", "Pauses a reminder.", false),
  setActive("reminders resume", "Resumes a paused reminder from its next due time.", true),
  callerDetail("reminders delete", "reminder", "reminders.delete", "Deletes reminders.", many),
  command({
    name: "reminders preview",
    as: "operator",
    summary: "Previews the next runs of a schedule.",
    about: "`moved` and `repeated` runs are those that a change of the clocks concerns.",
    arguments: {
      cron: once(text("CRON", "Five fields: minute, hour, day of month, month, day of week.")),
    },
    options: {
      workspace,
      timezone: maybe(text("ZONE", "The zone of these times. Default: UTC.")),
      count: maybe(between(1, 50, "COUNT", "How many runs, up to 50; 10.")),
    },
    run: async ({ cron, timezone, count: max, workspace: inside }, { operator, output }) => {
      const request = { schedule: toFields({ cron, timezone }), ...toFields({ count: max }) }
      const { data } = await operator().reminders.preview(inside, request)
      await output.all(data, [["local time", "local"], "at", ["clock", "mark"]])
    },
  }),
  operatorDetail(
    "reminders run",
    "reminder",
    "reminders.run",
    "Runs a reminder now. Its schedule is unchanged.",
    runColumns,
  ),
  command({
    name: "reminders runs",
    as: "operator",
    summary: "Shows the runs of a reminder: their messages, or why they sent nothing.",
    arguments: reminder,
    options: { workspace, ...limit },
    run: ({ id: of, workspace: inside, ...args }, { operator, output }) =>
      listed(args, output, runColumns, (page) => operator().reminders.runs(inside, of, page)),
  }),
]
