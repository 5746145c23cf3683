/** The operations of version 1 on reminders (contract: Version 1: reminders). */
import { Reminders, Version1Lists, offsetOfPage } from "@messaging-service/core"
import type { ReminderId, ReminderJson } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { DoneAnswer, done } from "./DoneV1.ts"
import { integer } from "./FieldsV1.ts"
import { idOf } from "./idV1.ts"
import { pageField, pageOf } from "./pageV1.ts"
import { reminderFields, remindV1 } from "./RemindV1.ts"
import { operationV1 } from "./RouteV1.ts"

const CreatedAnswer = Schema.Struct({
  status: Schema.Literal(1),
  message: Schema.String,
  reminder_id: Schema.Int,
})

const TextOrNull = Schema.NullOr(Schema.String)

const ReminderV1 = Schema.Struct({
  reminder_id: Schema.Int,
  reminder_name: Schema.String,
  phone: TextOrNull.annotate({ description: "With its +, or a Telegram username." }),
  group_name: TextOrNull,
  message: Schema.String,
  cron_expression: Schema.String,
  timezone: Schema.String,
  active: Schema.Boolean,
  next_run_at: TextOrNull.annotate({
    description: "In the reminder's time zone, with its offset; null when paused.",
  }),
}).annotate({ identifier: "ReminderV1" })

const ReminderListAnswer = Schema.Struct({
  status: Schema.Literal(1),
  total: Schema.Int.annotate({ description: "Of all pages." }),
  page: Schema.Int,
  reminders: Schema.Array(ReminderV1).annotate({ description: "Newest first." }),
})

const pageSize = 50

/** A saved contact, whom version 2 alone can name, shows neither phone nor group. */
const shownRecipient = (to: ReminderJson["to"]) => {
  if ("group" in to) return { phone: null, group_name: to.group }
  if ("phone" in to) return { phone: to.phone, group_name: null }
  return { phone: "username" in to ? to.username : null, group_name: null }
}

const shown = (reminder: ReminderJson): typeof ReminderV1.Type => ({
  reminder_id: reminder.id,
  reminder_name: reminder.name,
  ...shownRecipient(reminder.to),
  message: reminder.text,
  cron_expression: reminder.schedule.cron,
  timezone: reminder.schedule.timezone,
  active: reminder.active,
  next_run_at: reminder.next_run_at,
})

export const reminderRoutes = Effect.gen(function* () {
  const reminders = yield* Reminders
  const lists = yield* Version1Lists
  const remind = yield* remindV1

  return [
    operationV1({
      method: "POST",
      path: "/api/v1/reminder/create",
      summary: "Make a reminder",
      credentials: "client",
      fields: reminderFields,
      example: {
        reminder_name: "Stand-up",
        group_name: "Team",
        msg: "Stand-up in ten minutes",
        cron_expression: "50 9 * * 1-5",
        timezone: "Europe/Berlin",
      },
      answer: CreatedAnswer,
      handler: (asked) =>
        Effect.map(remind(asked), (id) => ({
          status: 1,
          message: "Reminder created",
          reminder_id: id,
        })),
    }),
    operationV1({
      method: "POST",
      path: "/api/v1/reminder/list",
      summary: "The workspace's reminders",
      credentials: "client",
      fields: { page: pageField },
      example: { page: 1 },
      answer: ReminderListAnswer,
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const page = yield* Effect.fromResult(pageOf(fields.page))
        const { items, total } = yield* lists.reminders(caller, offsetOfPage(page, pageSize))
        return {
          status: 1,
          total,
          page,
          reminders: items.map(shown),
        }
      }),
    }),
    operationV1({
      method: "POST",
      path: "/api/v1/reminder/cancel",
      summary: "Delete a reminder",
      credentials: "client",
      fields: { reminder_id: integer("The reminder's id.", { required: true }) },
      example: { reminder_id: 5 },
      answer: DoneAnswer,
      handler: ({ caller, fields }) =>
        Effect.as(
          reminders.remove(caller, idOf<ReminderId>(fields.reminder_id)),
          done("Reminder cancelled"),
        ),
    }),
  ]
})
