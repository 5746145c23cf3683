/** Reminders of version 2 (contract: Reminders). */
import {
  ReminderBody,
  ReminderChangeBody,
  ReminderQuery,
  Reminders,
  described,
  formatInZone,
  runRefusalMessage,
} from "@messaging-service/core"
import type {
  ChangeReminder,
  CreateReminder,
  LastRun,
  ListReminders,
  Reminder,
  RequestedRecipient,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/Operation.ts"
import {
  jsonBody,
  deleted,
  DeletedJson,
  IdJson,
  json,
  pageBody,
  query,
  answerJson,
  pageJson,
  Time,
} from "../Entry.ts"
import { MediaJson, refusedContent } from "./messages.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

export const RunOutcomeJson = described(
  Schema.Literals(["accepted", "refused", "missed"]),
  "`missed`: no process ran when it was due, and it was too late to catch up.",
)

const LastRunJson = Schema.Struct({
  dueAt: Time,
  outcome: RunOutcomeJson,
  messageId: described(Schema.NullOr(IdJson), "The accepted message; null without one."),
  error: described(
    Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String })),
    "Why it was refused, with a code of the error catalogue.",
  ),
}).annotate({ identifier: "LastRun" })

/** As it was referred to (contract: Reminders). */
export const RequestedRecipientJson = Schema.Union([
  Schema.Struct({ phone: Schema.String }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contactId: IdJson }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "ReminderRecipient" })

const shownRecipient = (to: RequestedRecipient) =>
  to.kind === "username" ? { username: to.username.text } : to

const ReminderJson = Schema.Struct({
  id: IdJson,
  name: Schema.String,
  active: described(Schema.Boolean, "False while it is paused."),
  to: RequestedRecipientJson,
  from: Schema.NullOr(IdJson),
  text: Schema.String,
  media: Schema.NullOr(MediaJson),
  schedule: Schema.Struct({ cron: Schema.String, timezone: Schema.String }),
  nextRunAt: described(
    Schema.NullOr(Schema.String.annotate({ format: "date-time" })),
    "In the reminder's time zone, with its offset; null when paused.",
  ),
  createdAt: Time,
  lastRun: described(
    Schema.NullOr(LastRunJson),
    "The outcome of the latest run; null before the first.",
  ),
}).annotate({ identifier: "Reminder" })

/** Recipient and media are shown as they were referred to. */
const shownReminder = (reminder: Reminder) => ({
  ...reminder,
  to: shownRecipient(reminder.to),
  schedule: { cron: reminder.cron, timezone: reminder.timezone },
  nextRunAt:
    reminder.nextRunAt === null ? null : formatInZone(reminder.nextRunAt, reminder.timezone),
  lastRun: reminder.lastRun && shownRun(reminder.lastRun, reminder),
})

const shownRun = (run: LastRun, reminder: Reminder) => ({
  ...run,
  error: run.code && { code: run.code, message: runRefusalMessage(run.code, reminder) },
})

const refusedReminder: ReadonlyArray<Refused> = [
  ...refusedContent,
  "invalid_cron",
  "invalid_timezone",
  "plan_required",
  "number_not_connected",
]

const route = routeV2("Reminders")

export const reminderRoutes: ReadonlyArray<RouteV2> = [
  route("POST /api/v2/reminders", {
    idempotent: true,
    id: "createReminder",
    summary: "Create a reminder",
    about: "Each run sends one ordinary message. Needs a plan that includes reminders.",
    request: json<CreateReminder>()(ReminderBody, {
      name: "Stand-up",
      to: { group: "Team" },
      text: "Stand-up in ten minutes",
      schedule: { cron: "50 9 * * 1-5", timezone: "Europe/Berlin" },
    }),
    status: 201,
    success: "The reminder.",
    answer: jsonBody(ReminderJson, { ...examples.reminder, last_run: null }),
    refused: refusedReminder,
    handler: Effect.fnUntraced(function* createReminder({ caller, idempotency, request }) {
      const reminders = yield* Reminders
      return answerJson(yield* reminders.create(caller, request, idempotency), shownReminder)
    }),
  }),
  route("GET /api/v2/reminders", {
    id: "listReminders",
    summary: "List reminders",
    about: "Newest first, paused ones included.",
    request: query<ListReminders>()(ReminderQuery),
    success: "A page of reminders.",
    answer: pageBody(ReminderJson, examples.reminder),
    handler: Effect.fnUntraced(function* listReminders({ caller, request }) {
      const reminders = yield* Reminders
      return pageJson(yield* reminders.list(caller, request), shownReminder)
    }),
  }),
  route("GET /api/v2/reminders/{id}", {
    id: "getReminder",
    summary: "Read a reminder",
    success: "The reminder.",
    answer: jsonBody(ReminderJson, examples.reminder),
    refused: ["reminder_not_found"],
    handler: Effect.fnUntraced(function* getReminder({ caller, id }) {
      const reminders = yield* Reminders
      return shownReminder(yield* reminders.get(caller, id("id")))
    }),
  }),
  route("PATCH /api/v2/reminders/{id}", {
    id: "updateReminder",
    summary: "Change, pause or resume a reminder",
    about:
      "Replaces `schedule` as a whole, but keeps the current zone without `timezone`. Pausing works in any plan.",
    request: json<ChangeReminder>()(ReminderChangeBody, { active: false }),
    success: "The reminder as it is now.",
    answer: jsonBody(ReminderJson, { ...examples.reminder, active: false, next_run_at: null }),
    refused: [...refusedReminder, "reminder_not_found"],
    handler: Effect.fnUntraced(function* updateReminder({ caller, id, request }) {
      const reminders = yield* Reminders
      return shownReminder(yield* reminders.update(caller, id("id"), request))
    }),
  }),
  route("DELETE /api/v2/reminders/{id}", {
    id: "deleteReminder",
    summary: "Delete a reminder",
    success: "The reminder no longer runs.",
    answer: jsonBody(DeletedJson, deleted(5)),
    refused: ["reminder_not_found"],
    handler: Effect.fnUntraced(function* deleteReminder({ caller, id }) {
      const reminders = yield* Reminders
      return deleted(yield* reminders.remove(caller, id("id")))
    }),
  }),
]
