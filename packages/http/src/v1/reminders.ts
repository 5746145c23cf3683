/**
 * Creates a reminder from version 1's fields with version 2's command (contract: Version 1:
 * reminders). A link is fetched at each run, as version 2's is; an uploaded file goes to the media
 * directory, where each run finds it.
 */
import {
  Connections,
  described,
  formatInZone,
  isBlank,
  maximumReminderNameLength,
  MediaDirectory,
  offsetOfPage,
  OutboundRule,
  refuse,
  reminderRequestParser,
  Reminders,
  Version1Lists,
} from "@messaging-service/core"
import type {
  Caller,
  CreateReminder,
  MediaType,
  NumberId,
  Refusal,
  Reminder,
  ReminderId,
  RequestedRecipient,
} from "@messaging-service/core"
import { Effect, Exit, Schema } from "effect"
import { failV1 } from "./failures.ts"
import type { FailureV1 } from "./failures.ts"
import {
  contentFields,
  groupFields,
  findId,
  integer,
  kindOf,
  pageField,
  parsePage,
  phoneFields,
  parseRecipient,
  toSource,
  string,
  textOfContent,
  unreadable,
} from "./fields.ts"
import type { ReadFieldsV1, SourceV1, UploadV1 } from "./fields.ts"
import { done, DoneAnswer, routeV1, succeeded, successV1 } from "./pipeline.ts"
import { ofNumber } from "./send.ts"

const reminderFields = {
  reminder_name: string(`Up to ${maximumReminderNameLength} characters.`, { required: true }),
  ...phoneFields,
  ...groupFields,
  whatsapp_client: integer("Id of a connected number. Default: any connected one."),
  ...contentFields,
  img_url: string("Link of an image, fetched at each run."),
  file_url: string("Link of a file, fetched at each run."),
  file: contentFields.file,
  cron_expression: string("Five fields: minute, hour, day of month, month, day of week.", {
    required: true,
  }),
  timezone: string("IANA name. Default: UTC."),
}

interface AskedReminder {
  readonly caller: Caller
  readonly fields: ReadFieldsV1<typeof reminderFields>
  readonly file: UploadV1 | null
}

type Link = Extract<SourceV1, { readonly _tag: "Link" }>
type Uploaded = Extract<SourceV1, { readonly _tag: "Upload" }>

const linkedMedia = (type: MediaType, { fileName, url }: Link) => ({
  url,
  type,
  ...(fileName === null ? {} : { fileName }),
})

const ofName = (refusal: Refusal): Refusal | FailureV1 =>
  refusal.code === "validation_failed" && refusal.field === "name"
    ? failV1("reminder_name_too_long")
    : refusal

/** Nothing was created. Without an answer from the store, the outcome is unknown. */
const isRefused = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.every((reason) => reason._tag === "Fail" && reason.error._tag === "Refusal")

/** The file of a failed reminder leaves the directory again. */
const createWithFile = Effect.fnUntraced(
  function* createWithFile(
    caller: Caller,
    command: CreateReminder,
    type: MediaType,
    { fileName, upload }: Uploaded,
  ) {
    const reminders = yield* Reminders
    const directory = yield* MediaDirectory
    const uploaded = yield* directory.upload(caller, { fileName, content: upload.content }, null)
    const media = { mediaId: uploaded.answer.id, type }
    return yield* reminders
      .create(caller, { ...command, media }, null)
      .pipe(
        Effect.onExit((exit) =>
          isRefused(exit)
            ? Effect.ignore(directory.delete(caller, uploaded.answer.id))
            : Effect.void,
        ),
      )
  },
  // A client that hangs up now must not leave a file behind without its reminder.
  Effect.uninterruptible,
)

/** Creates the reminder, with its file or link. */
const create = Effect.fnUntraced(function* create(
  caller: Caller,
  command: CreateReminder,
  kind: MediaType | null,
  source: SourceV1 | null,
) {
  const reminders = yield* Reminders
  if (kind === null || source === null) return yield* reminders.create(caller, command, null)
  if (source._tag === "Upload") return yield* createWithFile(caller, command, kind, source)
  return yield* reminders.create(caller, { ...command, media: linkedMedia(kind, source) }, null)
})

/** Version 1 distinguishes a disconnected number from an unknown one. */
const ofAbsentNumber = Effect.fnUntraced(function* ofAbsentNumber(
  caller: Caller,
  id: number | null,
  refusal: Refusal,
) {
  const connections = yield* Connections
  return yield* connections.get(caller, (id ?? undefined) as NumberId | undefined).pipe(
    Effect.as(refusal),
    Effect.catchTag("Refusal", () => Effect.succeed(refuse("number_not_found", { field: "from" }))),
  )
})

/** Version 1's text for the core's refusal. */
const refused = Effect.fnUntraced(function* refused(
  caller: Caller,
  from: number | null,
  refusal: Refusal,
) {
  const named =
    refusal.code === "number_not_connected" ? yield* ofAbsentNumber(caller, from, refusal) : refusal
  return yield* ofNumber(from, named)
})

const remindV1 = Effect.map(OutboundRule, (rule) => {
  const parser = reminderRequestParser(rule).unlimited
  return Effect.fnUntraced(
    function* remind({ caller, fields, file }: AskedReminder) {
      const { cron_expression, reminder_name, timezone, whatsapp_client: from } = fields
      if (reminder_name === null || isBlank(reminder_name)) return yield* failV1("no_reminder_name")
      const to = yield* parseRecipient(fields)
      const kind = yield* Effect.fromResult(kindOf(fields))
      const content = {
        name: reminder_name,
        to,
        text: textOfContent(fields),
        schedule: {
          cron: cron_expression ?? "",
          ...(timezone === null ? {} : { timezone: timezone.trim() }),
        },
      }
      // Checks the rest before anything is stored.
      yield* Effect.fromResult(parser.creation(content))
      const source = kind === null ? null : yield* Effect.fromResult(toSource(kind, fields, file))
      if (from === unreadable) return yield* failV1("invalid_number")
      return yield* create(caller, { ...content, from }, kind, source).pipe(
        Effect.catchTag("Refusal", (refusal) => refused(caller, from, refusal)),
      )
    },
    Effect.catchTag("Refusal", (refusal) => Effect.fail(ofName(refusal))),
  )
})

const TextOrNull = Schema.NullOr(Schema.String)

const ReminderV1 = Schema.Struct({
  reminder_id: Schema.Int,
  reminder_name: Schema.String,
  phone: described(TextOrNull, "With its +, or a Telegram username."),
  group_name: TextOrNull,
  message: Schema.String,
  cron_expression: Schema.String,
  timezone: Schema.String,
  active: Schema.Boolean,
  next_run_at: described(
    TextOrNull,
    "In the reminder's time zone, with its offset; null when paused.",
  ),
}).annotate({ identifier: "ReminderV1" })

const pageSize = 50

/** A saved contact, which only version 2 can name, shows neither phone nor group. */
const shownPhone = (to: RequestedRecipient): string | null => {
  if (to.kind === "phone") return to.phone
  return to.kind === "username" ? to.username.text : null
}

const toReminderV1 = (reminder: Reminder): typeof ReminderV1.Type => ({
  reminder_id: reminder.id,
  reminder_name: reminder.name,
  phone: shownPhone(reminder.to),
  group_name: reminder.to.kind === "group" ? reminder.to.group : null,
  message: reminder.text,
  cron_expression: reminder.cron,
  timezone: reminder.timezone,
  active: reminder.active,
  next_run_at:
    reminder.nextRunAt === null ? null : formatInZone(reminder.nextRunAt, reminder.timezone),
})

export const reminderRoutes = Effect.gen(function* reminderRoutes() {
  const reminders = yield* Reminders
  const lists = yield* Version1Lists
  const remind = yield* remindV1

  return [
    routeV1("POST /api/v1/reminder/create", {
      summary: "Create a reminder",
      fields: reminderFields,
      example: {
        reminder_name: "Stand-up",
        group_name: "Team",
        msg: "Stand-up in ten minutes",
        cron_expression: "50 9 * * 1-5",
        timezone: "Europe/Berlin",
      },
      answer: successV1({ message: Schema.String, reminder_id: Schema.Int }),
      handler: (request) =>
        Effect.map(remind(request), ({ answer }) => ({
          status: succeeded,
          message: "Reminder created",
          reminder_id: answer.id,
        })),
    }),
    routeV1("POST /api/v1/reminder/list", {
      summary: "List reminders",
      fields: { page: pageField },
      example: { page: 1 },
      answer: successV1({
        total: described(Schema.Int, "Of all pages."),
        page: Schema.Int,
        reminders: described(Schema.Array(ReminderV1), "Newest first."),
      }),
      handler: Effect.fnUntraced(function* handler({ caller, fields }) {
        const page = yield* Effect.fromResult(parsePage(fields.page))
        const { items, total } = yield* lists.reminders(caller, offsetOfPage(page, pageSize))
        return { status: succeeded, total, page, reminders: items.map(toReminderV1) }
      }),
    }),
    routeV1("POST /api/v1/reminder/cancel", {
      summary: "Delete a reminder",
      fields: { reminder_id: integer("The reminder's id.", { required: true }) },
      example: { reminder_id: 5 },
      answer: DoneAnswer,
      handler: ({ caller, fields }) =>
        Effect.as(
          reminders.remove(caller, findId<ReminderId>(fields.reminder_id)),
          done("Reminder cancelled"),
        ),
    }),
  ]
})
