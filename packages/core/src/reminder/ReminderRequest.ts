/**
 * The bodies of POST and PATCH /reminders, and the query of the list: from unknown input to what is
 * asked for, or the contract's errors with their fields. What depends on stored state is decided in
 * `decide.ts`.
 */
import { Result, Schema } from "effect"
import type { OutboundRule } from "../egress/Egress.ts"
import { problem } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import type { NumberId } from "../id/Ids.ts"
import { MediaInput, mediaUrlProblems } from "../media/MediaInput.ts"
import { TextInput, toMediaReference } from "../message/SendRequest.ts"
import { RecipientInput } from "../recipient/RecipientInput.ts"
import { described } from "../request/Described.ts"
import { decoded, inputDecoder, parsed, refusedAs, textBetween } from "../request/Input.ts"
import { limitOf, pageFields, queryDecoder, textFor } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { isBlank } from "../text/CodePoints.ts"
import { parseCron } from "./Cron.ts"
import { maximumReminderNameLength } from "./Reminder.ts"
import type { ReminderContent } from "./Reminder.ts"
import { parseTimeZone } from "./TimeZone.ts"
import type { TimeZone } from "./TimeZone.ts"

const ScheduleInput = Schema.Struct({
  cron: parsed("invalid_cron", (text) => Result.getOrUndefined(parseCron(text)), {
    description: "Five fields: minute, hour, day of month, month, day of week.",
    examples: ["30 9 * * 1-5"],
  }),
  timezone: Schema.optionalKey(
    parsed("invalid_timezone", parseTimeZone, {
      description:
        "IANA name. Left out it is UTC; in a change of the schedule it stays what it was.",
      examples: ["Europe/Berlin"],
    }),
  ),
}).annotate({ identifier: "ScheduleInput" })

const fields = {
  name: described(textBetween(1, maximumReminderNameLength), "Not blank."),
  to: RecipientInput,
  from: described(
    Schema.optionalKey(Schema.NullOr(Schema.Int)),
    "Id of a connected number; null or left out: any connected one. Required for a key limited to some numbers.",
  ),
  // What is missing or blank is told by `textProblems`.
  text: described(Schema.optionalKey(TextInput), "Required when the reminder is made."),
  media: Schema.optionalKey(Schema.NullOr(MediaInput)),
  schedule: ScheduleInput,
  active: described(Schema.optionalKey(Schema.Boolean), "False: paused.", { default: true }),
}

/** The body of POST /reminders. */
export const ReminderBody = Schema.Struct(fields).annotate({ identifier: "CreateReminder" })

/** The body of PATCH /reminders/{id}. */
export const ReminderChangeBody = Schema.Struct({
  ...fields,
  name: Schema.optionalKey(fields.name),
  to: Schema.optionalKey(fields.to),
  schedule: Schema.optionalKey(fields.schedule),
  active: described(Schema.optionalKey(Schema.Boolean), "False pauses it, true resumes it."),
}).annotate({ identifier: "ChangeReminder", description: "Only the fields to change." })

/** In the order of the contract's field table, which is the order of reported problems. */
const fieldOrder = [
  "name",
  "to",
  "from",
  "text",
  "media",
  ...Object.keys(MediaInput.fields).map((field) => `media.${field}`),
  "schedule",
  "schedule.cron",
  "schedule.timezone",
  "active",
]

type Raw = Readonly<Record<string, unknown>>

const textRequired = problem("text_required", "text", "A reminder needs text that is not blank.")

/** An empty name is told by its length. */
const nameProblems = ({ name }: Raw): ReadonlyArray<Problem> =>
  typeof name === "string" && name !== "" && isBlank(name)
    ? [problem("validation_failed", "name", "The name is blank.")]
    : []

const textProblems = ({ text }: Raw, required: boolean): ReadonlyArray<Problem> => {
  if (text === undefined) return required ? [textRequired] : []
  return typeof text === "string" && isBlank(text) ? [textRequired] : []
}

/** A limited key's reminder must send from one of its numbers, and go on doing so. */
const fromProblems = ({ from }: Raw, limited: boolean, required: boolean) => {
  const missing = from === null || (required && from === undefined)
  return limited && missing
    ? [problem("validation_failed", "from", "A key limited to some numbers must name one.")]
    : []
}

/** The fields that were given; `timezone` is left out when the current one is to be kept. */
export type ReminderChange = Partial<ReminderContent>

const toChange = (body: typeof ReminderChangeBody.Type): ReminderChange => ({
  ...(body.name === undefined ? {} : { name: body.name }),
  ...(body.to === undefined ? {} : { to: body.to }),
  ...(body.from === undefined ? {} : { from: body.from as NumberId | null }),
  ...(body.text === undefined ? {} : { text: body.text }),
  ...(body.media === undefined
    ? {}
    : { media: body.media === null ? null : toMediaReference(body.media) }),
  ...(body.schedule === undefined ? {} : { cron: body.schedule.cron.text }),
  ...(body.schedule?.timezone === undefined ? {} : { timezone: body.schedule.timezone }),
  ...(body.active === undefined ? {} : { active: body.active }),
})

const utc = "UTC" as TimeZone

export interface ReminderRequestParser {
  /** `limited`: whether the key is limited to some numbers. */
  readonly creation: (body: unknown, limited: boolean) => Result.Result<ReminderContent, Refusal>
  readonly change: (body: unknown, limited: boolean) => Result.Result<ReminderChange, Refusal>
}

/** The parsers under a rule for outgoing links. Build once, use often. */
export const reminderRequestParser = (rule: OutboundRule): ReminderRequestParser => {
  const acrossFields = (limited: boolean, creation: boolean) => (raw: Raw) => [
    ...nameProblems(raw),
    ...fromProblems(raw, limited, creation),
    ...textProblems(raw, creation),
    ...mediaUrlProblems(raw["media"], rule),
  ]
  const creation = (limited: boolean) =>
    inputDecoder(ReminderBody, fieldOrder, acrossFields(limited, true))
  const change = (limited: boolean) =>
    inputDecoder(ReminderChangeBody, fieldOrder, acrossFields(limited, false))
  const creations = { limited: creation(true), unlimited: creation(false) }
  const changes = { limited: change(true), unlimited: change(false) }
  const whose = (limited: boolean) => (limited ? "limited" : "unlimited")
  return {
    creation: (body, limited) =>
      Result.map(creations[whose(limited)](body), (given) => ({
        name: given.name,
        to: given.to,
        from: (given.from as NumberId | null | undefined) ?? null,
        text: given.text ?? "",
        media: given.media == null ? null : toMediaReference(given.media),
        cron: given.schedule.cron.text,
        timezone: given.schedule.timezone ?? utc,
        active: given.active ?? true,
      })),
    change: (body, limited) => Result.map(changes[whose(limited)](body), toChange),
  }
}

const ActiveText = textFor("Only running or only paused ones.", { type: "boolean" })

const ActiveInput = decoded(ActiveText, (text: string) => {
  if (text === "true") return true
  return text === "false" ? false : refusedAs("validation_failed")
})

/** The query parameters of GET /reminders. */
export const ReminderQuery = Schema.Struct({
  active: Schema.optionalKey(ActiveInput),
  ...pageFields,
})

const decodeList = queryDecoder(ReminderQuery)

export interface ReminderListRequest {
  /** Null for both. */
  readonly active: boolean | null
  readonly limit: number
  readonly cursor: string | null
}

/** The query of GET /reminders. */
export const parseReminderList = (
  query: QueryEntries,
): Result.Result<ReminderListRequest, Refusal> =>
  Result.map(decodeList(query), (given) => ({
    active: given.active ?? null,
    limit: limitOf(given),
    cursor: given.cursor ?? null,
  }))
