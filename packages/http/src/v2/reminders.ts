/** Reminders of version 2 (contract: Reminders). */
import {
  DeletedJson,
  ReminderBody,
  ReminderChangeBody,
  ReminderJson,
  ReminderQuery,
  Reminders,
  pageJson,
} from "@messaging-service/core"
import { Effect } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { asGiven, json, query } from "../route/Entry.ts"
import { refusedContent } from "./messages.ts"
import { routeV2 } from "./RouteV2.ts"

const refusedReminder: ReadonlyArray<Refused> = [
  ...refusedContent,
  "invalid_cron",
  "invalid_timezone",
  "plan_required",
  "number_not_connected",
]

const common = { tag: "Reminders" } as const

export const reminderRoutes = Effect.gen(function* () {
  const reminders = yield* Reminders

  return [
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/reminders",
      idempotent: true,
      id: "createReminder",
      summary: "Create a reminder",
      about: "Each run sends one ordinary message. Needs a plan that includes reminders.",
      request: json(
        ReminderBody,
        {
          name: "Stand-up",
          to: { group: "Team" },
          text: "Stand-up in ten minutes",
          schedule: { cron: "50 9 * * 1-5", timezone: "Europe/Berlin" },
        },
        asGiven,
      ),
      status: 201,
      success: "The reminder.",
      answer: ReminderJson,
      example: { ...examples.reminder, last_run: null },
      refused: refusedReminder,
      handler: ({ caller, idempotency, request }) => reminders.create(caller, request, idempotency),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/reminders",
      id: "listReminders",
      summary: "List reminders",
      about: "Newest first, paused ones included.",
      request: query(ReminderQuery, asGiven),
      success: "A page of reminders.",
      answer: pageJson(ReminderJson),
      example: pageOf(examples.reminder),
      handler: ({ caller, request }) => reminders.list(caller, request),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/reminders/{id}",
      id: "getReminder",
      summary: "Read a reminder",
      success: "The reminder.",
      answer: ReminderJson,
      example: examples.reminder,
      refused: ["reminder_not_found"],
      handler: ({ caller, id }) => reminders.get(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "PATCH",
      path: "/api/v2/reminders/{id}",
      id: "updateReminder",
      summary: "Change, pause or resume a reminder",
      about:
        "`schedule` is replaced as a whole, but without `timezone` the current zone is kept. Pausing works in any plan.",
      request: json(ReminderChangeBody, { active: false }, asGiven),
      success: "The reminder as it is now.",
      answer: ReminderJson,
      example: { ...examples.reminder, active: false, next_run_at: null },
      refused: [...refusedReminder, "reminder_not_found"],
      handler: ({ caller, id, request }) => reminders.update(caller, id("id"), request),
    }),
    routeV2({
      ...common,
      method: "DELETE",
      path: "/api/v2/reminders/{id}",
      id: "deleteReminder",
      summary: "Delete a reminder",
      success: "It runs no more.",
      answer: DeletedJson,
      example: { id: 5, deleted: true },
      refused: ["reminder_not_found"],
      handler: ({ caller, id }) => reminders.remove(caller, id("id")),
    }),
  ]
})
