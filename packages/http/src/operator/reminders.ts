/** Previews of schedules, runs at once and the logs of reminders (contract: Reminder log). */
import { PageInput, PreviewBody, Reminders, described } from "@messaging-service/core"
import type { ListPage, PreviewReminder, SchedulePreview } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { repeatedAnswer } from "../IncomingRequest.ts"
import { jsonBody, json, pageBody, query, page, IdJson, Time } from "../Entry.ts"
import { RunOutcomeJson } from "../v2/reminders.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

/** A line of the log as the operator sees it. */
const RunJson = Schema.Struct({
  id: IdJson,
  dueAt: Time,
  ranAt: Time,
  outcome: RunOutcomeJson,
  messageId: described(Schema.NullOr(IdJson), "The accepted message; null without one."),
  code: described(
    Schema.NullOr(Schema.String),
    "Why the run was refused: a code of the error catalogue.",
  ),
}).annotate({ identifier: "ReminderRun" })

const PreviewJson = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      at: Time,
      local: described(Schema.String, "In the zone's time, with its offset."),
      mark: described(
        Schema.NullOr(Schema.Literals(["moved", "repeated"])),
        "`moved`: the clocks skip its time. `repeated`: they show it for the second time.",
      ),
    }),
  ),
  skipped: described(
    Schema.Array(Schema.Struct({ local: Schema.String })),
    "Times of the pattern that the clocks skip and that have no run of their own.",
  ),
  clockChanges: described(
    Schema.Array(Schema.Struct({ at: Time, from: Schema.String, to: Schema.String })),
    "Clock changes until the last run, with the offsets before and after.",
  ),
}).annotate({ identifier: "ReminderPreview" })

const shownPreview = ({ clockChanges, runs, skipped }: SchedulePreview) => ({
  data: runs,
  skipped: skipped.map((local) => ({ local })),
  clockChanges,
})

const run = {
  id: 31,
  due_at: "2030-02-01T08:50:00Z",
  ran_at: "2030-02-01T08:50:00Z",
  outcome: "accepted",
  message_id: 4712,
  code: null,
}

const route = operatorRoute("Workspace reminders")

const remindersPath = `${workspacePath}/reminders` as const

export const reminderLogRoutes: ReadonlyArray<OperatorRoute> = [
  route(`POST ${remindersPath}/preview`, {
    id: "previewReminder",
    right: "read",
    summary: "Preview the runs of a schedule",
    about: "The rule that runs reminders, with what clock changes do to them. Stores nothing.",
    request: json<PreviewReminder>()(PreviewBody, {
      schedule: { cron: "30 2 * * *", timezone: "Europe/Berlin" },
      count: 3,
    }),
    success: "The next runs.",
    answer: jsonBody(PreviewJson, {
      data: [
        { at: "2030-03-30T01:30:00Z", local: "2030-03-30T02:30:00+01:00", mark: null },
        { at: "2030-03-31T01:00:00Z", local: "2030-03-31T03:00:00+02:00", mark: "moved" },
        { at: "2030-04-01T00:30:00Z", local: "2030-04-01T02:30:00+02:00", mark: null },
      ],
      skipped: [],
      clock_changes: [{ at: "2030-03-31T01:00:00Z", from: "+01:00", to: "+02:00" }],
    }),
    refused: ["invalid_cron", "invalid_timezone"],
    handler: Effect.fnUntraced(function* previewReminder({ id, request }) {
      const reminders = yield* Reminders
      return shownPreview(yield* reminders.preview(id("id"), request))
    }),
  }),
  route(`POST ${remindersPath}/{reminder_id}/run`, {
    idempotent: true,
    id: "runReminder",
    right: "administrate",
    summary: "Run a reminder now",
    about:
      "Its schedule goes on as before. A paused one runs too. What POST /messages would refuse is the outcome of the run.",
    status: 202,
    success: "The run.",
    answer: jsonBody(RunJson, run),
    refused: ["reminder_not_found"],
    handler: Effect.fnUntraced(function* runReminder({ id, idempotency, incoming, role }) {
      const reminders = yield* Reminders
      const repeatable = yield* reminders.run(role, id("id"), id("reminder_id"), idempotency)
      return repeatedAnswer(incoming, repeatable)
    }),
  }),
  operatorRoute("Reminder runs")(`GET ${remindersPath}/{reminder_id}/runs`, {
    id: "listReminderRuns",
    right: "read",
    summary: "Read a reminder's log",
    about: "Every run, newest first, with what it sent or why it sent nothing.",
    request: query<ListPage>()(PageInput),
    success: "A page of runs.",
    answer: pageBody(RunJson, run),
    refused: ["reminder_not_found"],
    handler: Effect.fnUntraced(function* listReminderRuns({ id, request, role }) {
      const reminders = yield* Reminders
      return page(yield* reminders.runs(role, id("id"), id("reminder_id"), request))
    }),
  }),
]
