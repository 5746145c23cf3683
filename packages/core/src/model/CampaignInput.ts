/**
 * Requests about campaigns: from unknown input to settings, a change of them, rows or what a list
 * is asked, or the problems (campaigns: 1 to 3). Then what a change may touch in which state, and
 * what holds for the settings that it leads to. Pure.
 */
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Equal, Result, Schema, SchemaIssue } from "effect"
import { pastTime } from "./accept.ts"
import {
  hasCampaignEnded,
  maximumCampaignRows,
  rowStatuses,
  campaignStates,
  weekdays,
} from "./Campaign.ts"
import type { Campaign, CampaignSettings, RowRecipient, SendingHours, Weekday } from "./Campaign.ts"
import { parseTimeZone } from "./Cron.ts"
import type { OutboundRule } from "./Egress.ts"
import type { ContactId, NumberId } from "./Ids.ts"
import {
  decoded,
  described,
  IdInput,
  idsUpTo,
  inputDecoder,
  InstantInput,
  integerBetween,
  isBlank,
  nameUpTo,
  parsed,
  refusedFor,
} from "./Input.ts"
import type { CommandOf } from "./Input.ts"
import { MediaInput, mediaUrlProblems } from "./Media.ts"
import { namesInput, pageFields, queryDecoder } from "./Page.ts"
import {
  callingCodes,
  namesOne,
  parsePhone,
  phoneDescribed,
  usernameDescribed,
} from "./Recipient.ts"
import { problem, refuse, refuseAll } from "./Refusal.ts"
import type { Problem, Refusal } from "./Refusal.ts"
import { ReferenceInput, TextInput, toMediaReference } from "./SendRequest.ts"
import { parseTemplate } from "./template.ts"
import { compareInstants } from "./Time.ts"
import type { Instant, Moment } from "./Time.ts"

/** Rows of one call at most (campaigns: 1). */
export const maximumRowsAtOnce = 1000

/** Numbers that `from` names at most. */
const maximumFrom = 50

/** What a campaign leaves to others of a number's 24 hours, unless it says otherwise. */
const defaultQuotaReserve = 200

const minutesOfDay = 24 * 60

const timeForm = /^(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)$/

const timeOfDay = (text: string, max: number): number | undefined => {
  const match = timeForm.exec(text)
  if (match === null) return undefined
  const [, hour, minute] = match
  const minutes = hour === undefined ? minutesOfDay : Number(hour) * 60 + Number(minute)
  return minutes <= max ? minutes : undefined
}

const timeInput = (max: number, rule: string, pattern: string, example: string) =>
  decoded(
    Schema.String.annotate({
      description: "On the clocks of `timezone`.",
      pattern,
      examples: [example],
    }),
    (text: string) => timeOfDay(text, max) ?? refusedFor(rule),
  )

const HoursInput = Schema.Struct({
  days: described(
    Schema.optionalKey(
      Schema.Array(Schema.Literals(weekdays)).check(
        Schema.isMinLength(1, { message: "must name 1 to 7 days" }),
        Schema.isMaxLength(weekdays.length, { message: "must name 1 to 7 days" }),
      ),
    ),
    "Left out: all seven.",
  ),
  from: timeInput(
    minutesOfDay - 1,
    "must be a time from 00:00 to 23:59",
    "^([01][0-9]|2[0-3]):[0-5][0-9]$",
    "09:00",
  ),
  until: timeInput(
    minutesOfDay,
    "must be a time from 00:01 to 24:00",
    "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$",
    "18:00",
  ),
}).annotate({ identifier: "SendingHours", description: "Messages leave only then." })

const fields = {
  name: described(nameUpTo(100), "Not blank."),
  text: described(
    Schema.optionalKey(TextInput),
    "Template, required without media: `{column}` is the row's value, `{column|words}` has words for where it is missing or blank, `{{` and `}}` are braces.",
    { default: "" },
  ),
  media: described(Schema.optionalKey(Schema.NullOr(MediaInput)), "For all rows."),
  from: described(
    Schema.optionalKey(Schema.Union([Schema.Null, IdInput, idsUpTo(maximumFrom)])),
    "Sending numbers: null for any of the workspace, an id, or 1 to 50 ids.",
  ),
  reference: described(
    Schema.optionalKey(Schema.NullOr(ReferenceInput)),
    "Of all its messages; null for `campaign-<id>`.",
  ),
  timezone: described(
    Schema.optionalKey(
      Schema.NullOr(
        parsed("invalid_timezone", parseTimeZone, {
          description: "IANA name.",
          examples: ["Europe/Berlin"],
        }),
      ),
    ),
    "IANA name; required with `hours`, and for times of rows without an offset.",
  ),
  sendAt: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "It begins then, in the future; null: when it is started.",
  ),
  hours: described(
    Schema.optionalKey(Schema.NullOr(HoursInput)),
    "Messages leave only then, in `timezone`.",
  ),
  expiresAt: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "In the future and after the time to begin: no message leaves later.",
  ),
  quotaReserve: described(
    Schema.optionalKey(integerBetween(0, 999)),
    "How many of the 1,000 in each number's 24 hours it leaves to others.",
    { default: defaultQuotaReserve },
  ),
  defaultCountryCode: described(
    Schema.optionalKey(
      Schema.NullOr(
        Schema.String.check(
          Schema.makeFilter(
            (digits) =>
              callingCodes.has(digits) ? undefined : "must be the digits of a calling code",
            { toJsonSchema: () => ({ pattern: "^[1-9][0-9]{0,2}$" }) },
          ),
        ),
      ),
    ),
    "Digits of a calling code, for phones without `+`.",
  ),
  duplicates: described(
    Schema.optionalKey(Schema.Literals(["keep", "drop"])),
    "`drop` refuses later rows of the same recipient.",
    { default: "keep" },
  ),
}

/** The body of POST …/campaigns. */
export const CampaignBody = Schema.Struct(fields).annotate({ identifier: "CampaignInput" })

export type CreateCampaign = CommandOf<typeof CampaignBody.Encoded>

/** The body of PATCH …/campaigns/{campaign_id}. */
export const CampaignChangeBody = Schema.Struct({
  ...fields,
  name: Schema.optionalKey(fields.name),
}).annotate({ identifier: "ChangeCampaign", description: "Only the fields to change." })

export type ChangeCampaign = CommandOf<typeof CampaignChangeBody.Encoded>

/** What the fields are refused with, apart from `validation_failed`. */
const codes = [
  "text_required",
  "text_too_long",
  "invalid_template",
  "invalid_media_url",
  "invalid_timezone",
  "invalid_datetime",
] as const

type CampaignInputCode = (typeof codes)[number] | "validation_failed"

type Raw = Readonly<Record<string, unknown>>

const templateProblems = ({ text }: Raw): ReadonlyArray<Problem<"invalid_template">> => {
  if (typeof text !== "string") return []
  const template = parseTemplate(text)
  return Result.isFailure(template) ? [problem("invalid_template", "text", template.failure)] : []
}

const hoursProblems = ({ hours }: Raw): ReadonlyArray<Problem<"validation_failed">> => {
  if (typeof hours !== "object" || hours === null) return []
  const { from, until } = hours as Raw
  if (typeof from !== "string" || typeof until !== "string") return []
  const starts = timeOfDay(from, minutesOfDay - 1)
  const ends = timeOfDay(until, minutesOfDay)
  return starts !== undefined && ends !== undefined && ends <= starts
    ? [problem("validation_failed", "hours.until", "must be after the time in from")]
    : []
}

/** The given times, at full precision: stored ones are whole milliseconds. */
interface GivenTimes {
  readonly sendAt?: Instant | null
  readonly expiresAt?: Instant | null
}

/** The given fields, and nothing else. */
export interface CampaignChange {
  readonly settings: Partial<CampaignSettings>
  readonly times: GivenTimes
}

const givenHours = ({ days = weekdays, from, until }: typeof HoursInput.Type): SendingHours => ({
  days: weekdays.filter((day: Weekday) => days.includes(day)),
  from,
  until,
})

const givenFrom = (from: number | ReadonlyArray<number>): ReadonlyArray<NumberId> => [
  ...new Set((typeof from === "number" ? [from] : from) as ReadonlyArray<NumberId>),
]

const toChange = ({
  expiresAt,
  from,
  hours,
  media,
  sendAt,
  ...args
}: typeof CampaignChangeBody.Type): CampaignChange => ({
  settings: {
    ...args,
    ...(media === undefined ? {} : { media: media === null ? null : toMediaReference(media) }),
    ...(from === undefined ? {} : { from: from === null ? null : givenFrom(from) }),
    ...(sendAt === undefined ? {} : { sendAt: sendAt?.millis ?? null }),
    ...(hours === undefined ? {} : { hours: hours === null ? null : givenHours(hours) }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt?.millis ?? null }),
  },
  times: {
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  },
})

/** What a campaign has unless it says otherwise. */
const defaults: Omit<CampaignSettings, "name"> = {
  text: "",
  media: null,
  from: null,
  reference: null,
  timezone: null,
  sendAt: null,
  hours: null,
  expiresAt: null,
  quotaReserve: defaultQuotaReserve,
  defaultCountryCode: null,
  duplicates: "keep",
}

const exactly = (input: Instant | null | undefined, stored: number | null): Instant | null =>
  input === undefined && stored !== null ? { millis: stored, beyond: "" } : (input ?? null)

/** Problems that several fields make together, those that were not given included. */
const togetherProblems = (
  settings: CampaignSettings,
  { settings: overrides, times }: CampaignChange,
): ReadonlyArray<Problem<"text_required" | "validation_failed">> => {
  const sendAt = exactly(times.sendAt, settings.sendAt)
  const expiresAt = exactly(times.expiresAt, settings.expiresAt)
  const isOutOfOrder =
    Object.keys(times).length > 0 &&
    sendAt !== null &&
    expiresAt !== null &&
    compareInstants(expiresAt, sendAt) <= 0
  return [
    ...(isBlank(settings.text) && settings.media === null
      ? [problem("text_required", "text")]
      : []),
    ...(settings.hours !== null && settings.timezone === null
      ? [problem("validation_failed", "timezone", "is required with hours")]
      : []),
    ...(isOutOfOrder && overrides.expiresAt === undefined
      ? [problem("validation_failed", "sendAt", "must be before the time to expire")]
      : []),
    ...(isOutOfOrder && overrides.expiresAt !== undefined
      ? [problem("validation_failed", "expiresAt", "must be after the time to begin")]
      : []),
  ]
}

const judged = (
  settings: CampaignSettings,
  change: CampaignChange,
): Result.Result<CampaignSettings, Refusal<CampaignInputCode>> => {
  const [first, ...rest] = togetherProblems(settings, change)
  return first === undefined ? Result.succeed(settings) : Result.fail(refuseAll(first, rest))
}

/** Why the given times are refused now. */
export const refuseTimes = (
  { expiresAt = null, sendAt = null }: GivenTimes,
  now: number,
): Result.Result<void, Refusal<"time_in_past">> => {
  const past = pastTime({ sendAt, expiresAt }, now)
  return past === undefined ? Result.void : Result.fail(past)
}

/** A campaign to make, once its times are not past. */
export interface RequestedCampaign {
  readonly settings: CampaignSettings
  readonly times: GivenTimes
}

/** Input is checked whatever its static type: it may be raw JSON. Build once, reuse. */
export const campaignParser = (rule: OutboundRule) => {
  const across = (raw: Raw) => [
    ...templateProblems(raw),
    ...mediaUrlProblems(raw["media"], rule),
    ...hoursProblems(raw),
  ]
  const creation = inputDecoder(CampaignBody, { codes, across })
  const change = inputDecoder(CampaignChangeBody, { codes, across })
  return {
    creation: (command: unknown) =>
      Result.flatMap(
        creation(command),
        (body): Result.Result<RequestedCampaign, Refusal<CampaignInputCode>> => {
          const input = toChange(body)
          const settings = { ...defaults, ...input.settings, name: body.name }
          return Result.map(judged(settings, input), () => ({ settings, times: input.times }))
        },
      ),
    change: (command: unknown) => Result.map(change(command), toChange),
  }
}

/** Rows were checked with these. */
const rowFields = [
  "text",
  "media",
  "timezone",
  "defaultCountryCode",
  "duplicates",
] as const satisfies ReadonlyArray<keyof CampaignSettings>

/** Whether rows that were checked with the one need no check with the other. */
export const checksRowsAlike = (one: CampaignSettings, other: CampaignSettings): boolean =>
  rowFields.every((name) => Equal.equals(one[name], other[name]))

type UpdateCode = "campaign_has_rows" | "campaign_started" | "campaign_ended"

const fixedField = (
  campaign: Pick<Campaign, "state" | "startedAt">,
  rows: number,
  overrides: Partial<CampaignSettings>,
): Refusal<UpdateCode> | undefined => {
  const checked = rowFields.find((name) => overrides[name] !== undefined)
  if (checked !== undefined && rows > 0) return refuse("campaign_has_rows", { field: checked })
  if (
    overrides.sendAt !== undefined &&
    (campaign.state === "running" || campaign.startedAt !== null)
  ) {
    return refuse("campaign_started", { field: "sendAt" })
  }
  return hasCampaignEnded(campaign) && Object.keys(overrides).length > 0
    ? refuse("campaign_ended")
    : undefined
}

/** The settings after a change, or why it may not be made; `rows`: how many the campaign has. */
export const decideUpdate = (
  campaign: Campaign,
  rows: number,
  change: CampaignChange,
  now: number,
): Result.Result<CampaignSettings, Refusal<UpdateCode | CampaignInputCode | "time_in_past">> => {
  const fixed = fixedField(campaign, rows, change.settings)
  if (fixed !== undefined) return Result.fail(fixed)
  const settings = { ...toSettings(campaign), ...change.settings }
  return Result.flatMap(judged(settings, change), () =>
    Result.map(refuseTimes(change.times, now), () => settings),
  )
}

/** What requests set of it. */
const toSettings = (campaign: CampaignSettings): CampaignSettings => ({
  name: campaign.name,
  text: campaign.text,
  media: campaign.media,
  from: campaign.from,
  reference: campaign.reference,
  timezone: campaign.timezone,
  sendAt: campaign.sendAt,
  hours: campaign.hours,
  expiresAt: campaign.expiresAt,
  quotaReserve: campaign.quotaReserve,
  defaultCountryCode: campaign.defaultCountryCode,
  duplicates: campaign.duplicates,
})

// Rows. What is wrong with one row refuses that row, not the call; see `campaignRows.ts`. Only its
// shape is the call's.

/** Bytes of a row's values with their names. */
export const maximumValuesBytes = 8192

/** How many bytes a text has in UTF-8. */
export const utf8Length = (text: string): number => utf8ToBytes(text).length

/** How many bytes a row's values have with their names. */
export const valuesBytes = (values: Readonly<Record<string, string>>): number =>
  Object.entries(values).reduce(
    (bytes, [name, value]) => bytes + utf8Length(name) + utf8Length(value),
    0,
  )

const areTexts = (
  values: Readonly<Record<string, unknown>>,
): values is Readonly<Record<string, string>> =>
  Object.values(values).every((value) => typeof value === "string")

const valuesRule = (values: Readonly<Record<string, unknown>>): string | undefined => {
  if (!areTexts(values)) return "must have texts as values"
  return valuesBytes(values) > maximumValuesBytes
    ? `must have at most ${maximumValuesBytes.toLocaleString("en")} bytes`
    : undefined
}

const RowTo = Schema.Struct({
  phone: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "E.164 with a leading +; without + where the campaign has a `default_country_code`.",
      examples: phoneDescribed.examples,
    }),
  ),
  group: described(Schema.optionalKey(Schema.String), "Exact name of a WhatsApp group."),
  contactId: described(Schema.optionalKey(Schema.Int), "Id of a saved contact."),
  username: Schema.optionalKey(Schema.String.annotate({ ...usernameDescribed })),
})
  .check(namesOne)
  .annotate({ identifier: "RowRecipient", description: "Exactly one of the keys." })

/** Read only when the row is: a time that is none refuses the row. */
const RowTime: Schema.Codec<string, Moment> = decoded(
  Schema.String.annotate({
    description: "ISO 8601 with an offset.",
    examples: ["2030-01-31T09:00:00+02:00"],
    takesDate: true,
  }),
  (text: string) => text,
)

const RowInput = Schema.Struct({
  to: RowTo,
  values: described(
    Schema.optionalKey(
      Schema.Record(Schema.String, Schema.Unknown).check(
        Schema.makeFilter(valuesRule, {
          toJsonSchema: () => ({ additionalProperties: { type: "string" } }),
        }),
      ),
    ),
    "By the names of columns.",
  ),
  sendAt: described(
    Schema.optionalKey(Schema.NullOr(RowTime)),
    "It is not taken on before; null for the campaign's.",
  ),
  expiresAt: described(
    Schema.optionalKey(Schema.NullOr(RowTime)),
    "It is not sent after; null for the campaign's.",
  ),
}).annotate({ identifier: "RowInput" })

/** The body of POST …/rows. */
export const RowsBody = Schema.Struct({
  rows: Schema.Array(RowInput).check(
    Schema.makeFilter((rows) => (rows.length > 0 ? undefined : "must hold at least one row"), {
      toJsonSchema: () => ({ minItems: 1, maxItems: maximumRowsAtOnce }),
    }),
  ),
}).annotate({ identifier: "AddRows" })

export type AddRows = CommandOf<typeof RowsBody.Encoded>

/** A row as it was given: what its texts mean is still to be checked. */
export interface GivenRow {
  /** Of the file; null unless from one. */
  readonly line: number | null
  readonly to: RowRecipient
  readonly values: Readonly<Record<string, string>>
  /** Blank and null: the campaign's. */
  readonly sendAt: string | null
  readonly expiresAt: string | null
}

const decodeRows = inputDecoder(RowsBody, { lists: { rows: { most: maximumRowsAtOnce } } })

const givenTo = ({ contactId, group, phone, username }: typeof RowTo.Type): RowRecipient => {
  if (phone !== undefined) return { phone }
  if (username !== undefined) return { username }
  return group === undefined ? { contactId: contactId as ContactId } : { group }
}

export const parseRows = (
  command: unknown,
): Result.Result<ReadonlyArray<GivenRow>, Refusal<"validation_failed">> =>
  Result.map(decodeRows(command), ({ rows }) =>
    rows.map(({ expiresAt = null, sendAt = null, to, values = {} }) => ({
      line: null,
      to: givenTo(to),
      values: values as Readonly<Record<string, string>>,
      sendAt,
      expiresAt,
    })),
  )

/** The body of POST …/resume, which may be left out. */
export const ResumeBody = Schema.Struct({
  fromRow: described(
    Schema.optionalKey(Schema.NullOr(integerBetween(1, maximumCampaignRows + 1))),
    "After a restore: the first row that had not left.",
  ),
}).annotate({ identifier: "ResumeCampaign" })

const decodeResume = inputDecoder(ResumeBody)

/** The row to go on from; null without one. */
export const parseResume = (
  command: unknown,
): Result.Result<number | null, Refusal<"validation_failed">> =>
  Result.map(decodeResume(command ?? {}), ({ fromRow = null }) => fromRow)

// Lists.

/** The query parameters of GET …/campaigns. */
export const CampaignQuery = Schema.Struct({
  state: Schema.optionalKey(namesInput(campaignStates)),
  ...pageFields,
})

export const parseListCampaigns = queryDecoder(CampaignQuery)

const StatusInput = Schema.optionalKey(namesInput(rowStatuses))

const codeForm = /^[a-z][a-z0-9_]{0,63}$/

/** The query parameters of GET …/rows. */
export const CampaignRowQuery = Schema.Struct({
  status: StatusInput,
  code: Schema.optionalKey(
    decoded(
      Schema.String.annotate({ description: "Only rows with an error of this code." }),
      (text: string): string | SchemaIssue.Issue =>
        codeForm.test(text) ? text : refusedFor("must be the code of an error"),
    ),
  ),
  to: Schema.optionalKey(
    parsed("invalid_phone", parsePhone, {
      description: "A phone: rows to it, and to contacts that had it when they were taken on.",
    }),
  ),
  ...pageFields,
})

export const parseListCampaignRows = queryDecoder(CampaignRowQuery, ["invalid_phone"])

/** The query parameters of GET …/results.csv. */
export const CampaignResultsQuery = Schema.Struct({ status: StatusInput })

export const parseResultsQuery = queryDecoder(CampaignResultsQuery)
