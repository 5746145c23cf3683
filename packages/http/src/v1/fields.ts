/**
 * The fields of version 1 requests. A table of fields describes an operation's input for the reader and the
 * document, and parses it as leniently as version 1 does: numbers may be digits in text, empty text and
 * non-text values (an object, a list, true) count as not given, unknown fields are ignored.
 */
import {
  formatInstant,
  isGroupName,
  maximumRecipients,
  momentInZone,
  parseInstant,
  parsePhone,
  parseTimeZone,
  parseUsername,
  givenFileName,
  uploadedFileName,
} from "@messaging-service/core"
import type { MediaType, Message, SpooledContent } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { JsonValue } from "../StrictJson.ts"
import { failV1 } from "./failures.ts"
import type { FailureV1, TextName } from "./failures.ts"

/** The fields of a request before an operation's table reads them. */
export interface BodyV1 {
  /** Whether it was given at all, even as null or empty. */
  readonly has: (name: string) => boolean
  /** Null when it was not given; the last one, where a form gave several. */
  readonly one: (name: string) => JsonValue
  /** The members of a list, or a form's values with that name, in order. */
  readonly all: (name: string) => ReadonlyArray<JsonValue>
}

export interface UploadV1 {
  /** Null when the client gave no usable name. */
  readonly fileName: string | null
  readonly content: SpooledContent
}

export interface FieldV1<A> {
  readonly type: "integer" | "string" | "strings" | "file"
  readonly required: boolean
  /** Whether null in JSON counts as not given. */
  readonly nullable: boolean
  readonly description: string
  readonly read: (body: BodyV1, name: string) => A
}

/** The given value has the wrong type. */
export const unreadable = Symbol("unreadable")

type Lenient<A> = A | null | typeof unreadable

const wholeNumber = /^-?\d{1,16}$/

/** A whole number; null when it was not given. */
export const parseInteger = (value: JsonValue): Lenient<number> => {
  if (value === null || value === "") return null
  const number = typeof value === "string" && wholeNumber.test(value) ? Number(value) : value
  return typeof number === "number" && Number.isSafeInteger(number) ? number : unreadable
}

/** Text, or a number's digits; null for everything else, empty text included. */
export const parseText = (value: JsonValue): string | null => {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : null
  return typeof value === "string" && value !== "" ? value : null
}

/** Makes fields with that type and reader. */
const makeField =
  <A>(type: FieldV1<A>["type"], read: FieldV1<A>["read"], nullable = true) =>
  (description: string, { required = false } = {}): FieldV1<A> => ({
    type,
    required,
    nullable: nullable && !required,
    description,
    read,
  })

export const integer = makeField("integer", (body, name) => parseInteger(body.one(name)))

/** Like `integer`, but an empty text and null count as given, and are not whole numbers. */
const strictInteger = makeField(
  "integer",
  (body, name) => {
    const number = parseInteger(body.one(name))
    return number === null && body.has(name) ? unreadable : number
  },
  false,
)

/** Whether it is a whole number of any size, as a number or as digits. */
export const isWholeNumber = (value: JsonValue): boolean =>
  typeof value === "string" ? /^-?\d+$/.test(value) : Number.isInteger(value)

export const string = makeField("string", (body, name) => parseText(body.one(name)))

/** A file. It is not parsed as a field; the table has it for the document. */
export const file = makeField("file", () => null)

/** The members of a comma-separated text; entirely empty ones are skipped. */
function* commaSeparated(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const first = text[at]
    if (first === "," || first === " ") {
      at++
      continue
    }
    const comma = text.indexOf(",", at)
    const end = comma === -1 ? text.length : comma
    yield text.slice(at, end).trim()
    at = end + 1
  }
}

function* eachMember(values: ReadonlyArray<JsonValue>): Generator<string | null> {
  for (const value of values) {
    if (typeof value === "string") yield* commaSeparated(value)
    else yield parseText(value)
  }
}

/**
 * A required list, or comma-separated texts. Empty members are skipped; a non-text member is null.
 * Of a list longer than `most`, it reads one extra member and no more.
 */
export const strings = (max: number, description: string) =>
  makeField("strings", (body, name) => {
    const members: Array<string | null> = []
    for (const member of eachMember(body.all(name))) {
      if (member === "") continue
      members.push(member)
      if (members.length > max) break
    }
    return members
  })(description, { required: true })

export type FieldsV1 = Readonly<Record<string, FieldV1<unknown>>>

export type ReadFieldsV1<Fields extends FieldsV1> = {
  readonly [Name in keyof Fields]: Fields[Name] extends FieldV1<infer A> ? A : never
}

/** A request by its fields. JSON carries no file, so no example names one. */
export type ExampleV1<Fields extends FieldsV1> = {
  readonly [Name in keyof Fields]?: NonNullable<
    Exclude<ReadFieldsV1<Fields>[Name], typeof unreadable>
  >
}

export const readFields = <Fields extends FieldsV1>(
  fields: Fields,
  body: BodyV1,
): ReadFieldsV1<Fields> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.read(body, name)]),
  ) as ReadFieldsV1<Fields>

/** An id that is not a positive integer counts as unknown. */
export const findId = <Id extends number>(input: Lenient<number>): Id | undefined =>
  typeof input === "number" && input > 0 ? (input as Id) : undefined

/** A whole number within those bounds; `otherwise` when it was not given. Fails with that text. */
const within = <Otherwise>(
  input: Lenient<number>,
  otherwise: Otherwise,
  min: number,
  max: number,
  failure: TextName,
): Result.Result<number | Otherwise, FailureV1> => {
  if (input === null) return Result.succeed(otherwise)
  return input === unreadable || input < min || input > max
    ? Result.fail(failV1(failure))
    : Result.succeed(input)
}

/** One of those words; null when none was given. Fails with that text. */
export const oneOf = <Word extends string>(
  text: string | null,
  words: ReadonlyArray<Word>,
  failure: TextName,
): Result.Result<Word | null, FailureV1> => {
  if (text === null) return Result.succeed(null)
  const word = words.find((known) => known === text)
  return word === undefined ? Result.fail(failV1(failure)) : Result.succeed(word)
}

// Pages

export const pageField = integer("Default: 1.")

/** No workspace has records on a later page. */
const lastPage = 1_000_000_000

export const parsePage = (input: Lenient<number>) => within(input, 1, 1, lastPage, "invalid_page")

interface LimitV1 {
  readonly otherwise: number
  readonly most: number
}

export const limitField = ({ most, otherwise }: LimitV1) =>
  integer(`Records of a page, at most ${most}. Default: ${otherwise}.`)

/** A larger limit counts as the maximum. */
export const parseLimit = (input: Lenient<number>, { most, otherwise }: LimitV1) =>
  Result.map(within(input, otherwise, 1, Infinity, "invalid_limit"), (limit) =>
    Math.min(limit, most),
  )

export const offsetField = integer("Records to skip. Default: 0.")

export const parseOffset = (input: Lenient<number>) =>
  within(input, 0, 0, Infinity, "invalid_offset")

// Recipients, as version 2 writes them (contract: Version 1: sends). Country code and phone come
// separately and are joined; a phone that begins with `@` is a Telegram username.

/** `to` of version 2. */
export type RecipientV1 =
  | { readonly phone: string }
  | { readonly group: string }
  | { readonly username: string }

const countryCode = {
  country_code: string("Digits; without it, the phone must include its country code."),
}

export const phoneFields = {
  ...countryCode,
  phone: string("Digits, or a Telegram username as `@name`; either this or `group_name`."),
}

export const groupFields = { group_name: string("The exact name of a WhatsApp group.") }

export const phonesFields = {
  ...countryCode,
  phones: strings(maximumRecipients, "1 to 1,000 phones, as a list or with commas between them."),
}

const compact = (text: string): string => text.replaceAll(/[ -]+/g, "")

/** The digits of a country code, parsed once for all its phones: it may be long. */
const toPrefix = (code: string | null): string => compact(code ?? "").replace(/^\+/, "")

type Join = (code: string, phone: string) => string

const alone: Join = (_, phone) => phone

/** The numbering plans load with the first country code. */
const joining = (code: string): Effect.Effect<Join> =>
  code === ""
    ? Effect.succeed(alone)
    : Effect.promise(async () => (await import("./countryCodes.ts")).withCountryCode)

/** A phone (its country code may be separate) or a username. Fails with `invalid_phone`. */
const parsePerson = (
  value: string,
  code = "",
  join: Join = alone,
): Result.Result<RecipientV1, FailureV1> => {
  const text = value.trim()
  if (text.startsWith("@")) {
    return parseUsername(text) === undefined
      ? Result.fail(failV1("invalid_phone"))
      : Result.succeed({ username: text })
  }
  const digits = compact(text)
  // A phone with its own `+` already has its country code.
  const phone = parsePhone(digits.startsWith("+") ? digits : `+${join(code, digits)}`)
  return phone === undefined ? Result.fail(failV1("invalid_phone")) : Result.succeed({ phone })
}

export const parseGroup = ({
  group_name,
}: ReadFieldsV1<typeof groupFields>): Result.Result<RecipientV1, FailureV1> => {
  if (group_name === null) return Result.fail(failV1("no_group"))
  return isGroupName(group_name)
    ? Result.succeed({ group: group_name })
    : Result.fail(failV1("invalid_group"))
}

/** The recipient of a single send. Fails unless exactly one of `phone` and `group_name` is given. */
export const parseRecipient = Effect.fnUntraced(function* parseRecipient(
  fields: ReadFieldsV1<typeof phoneFields & typeof groupFields>,
) {
  const { country_code, group_name, phone } = fields
  if (phone !== null && group_name !== null) return yield* failV1("two_recipients")
  if (phone !== null) {
    const code = toPrefix(country_code)
    return yield* Effect.fromResult(parsePerson(phone, code, yield* joining(code)))
  }
  return yield* group_name === null ? failV1("no_recipient") : Effect.fromResult(parseGroup(fields))
})

/** Fails with `no_phones`, `too_many_phones`, `invalid_phone`. */
export const parseRecipients = Effect.fnUntraced(function* parseRecipients({
  country_code,
  phones,
}: ReadFieldsV1<typeof phonesFields>) {
  if (phones.length === 0) return yield* failV1("no_phones")
  if (phones.length > maximumRecipients) return yield* failV1("too_many_phones")
  const code = toPrefix(country_code)
  const join = yield* joining(code)
  const recipients: Array<RecipientV1> = []
  for (const phone of phones) {
    recipients.push(yield* Effect.fromResult(parsePerson(phone ?? "", code, join)))
  }
  return recipients
})

/** E.164; its `+` may be missing. Fails with `invalid_phone`. */
export const toPhone = (text: string): Result.Result<string, FailureV1> =>
  Result.flatMap(parsePerson(text), (person) =>
    "phone" in person ? Result.succeed(person.phone) : Result.fail(failV1("invalid_phone")),
  )

// Content: text, an image or a file, by `msg_type` (contract: Version 1: sends)

export const contentFields = {
  msg_type: strictInteger("0 text (the default), 1 image, 2 file."),
  msg: string("The text, up to 3,000 characters; the caption of an image or a file."),
  message: string("Another name of `msg`."),
  img_url: string("Link of an image, downloaded during the call."),
  file_url: string("Link of a file, downloaded during the call; at most 100 MiB."),
  file_name: string("The file's name."),
  file: file("The file itself, instead of `file_url`, in a multipart form; at most 64 MiB."),
}

type ContentFields = ReadFieldsV1<typeof contentFields>

/** Null for text. */
export const kindOf = ({ msg_type }: ContentFields): Result.Result<MediaType | null, FailureV1> => {
  switch (msg_type) {
    case null:
    case 0:
      return Result.succeed(null)
    case 1:
      return Result.succeed("image")
    case 2:
      return Result.succeed("file")
    default:
      return Result.fail(failV1("invalid_msg_type"))
  }
}

/** The number of `msg_type` for a message's content. */
export const toMsgType = ({
  foundMediaType,
  media,
}: Pick<Message, "foundMediaType" | "media">): 0 | 1 | 2 => {
  if (media === null) return 0
  return (media.type ?? foundMediaType) === "image" ? 1 : 2
}

export const textOfContent = ({ message, msg }: ContentFields): string => msg ?? message ?? ""

/** Where the image or the file comes from. */
export type SourceV1 =
  | { readonly _tag: "Link"; readonly url: string; readonly fileName: string | null }
  | { readonly _tag: "Upload"; readonly upload: UploadV1; readonly fileName: string }

/** The name of a file that came without one. */
const unnamed = "file"

/** An uploaded file wins over a link. */
export const toSource = (
  kind: MediaType,
  fields: ContentFields,
  upload: UploadV1 | null,
): Result.Result<SourceV1, FailureV1> => {
  const { file_name, file_url, img_url } = fields
  const link = kind === "image" ? img_url : file_url
  const uploaded = kind === "file" ? upload : null
  if (link === null && uploaded === null) {
    return Result.fail(failV1(kind === "image" ? "no_image" : "no_file"))
  }
  const isGiven = file_name !== null && givenFileName(file_name) !== null
  const fileName = isGiven ? uploadedFileName(file_name) : null
  if (fileName === undefined) return Result.fail(failV1("invalid_file_name"))
  return Result.succeed(
    uploaded === null
      ? { _tag: "Link", url: link ?? "", fileName }
      : { _tag: "Upload", upload: uploaded, fileName: fileName ?? uploaded.fileName ?? unnamed },
  )
}

// Times: a date, a time and a zone apart, and seconds instead of an end (contract: Version 1:
// sends). Dates put the day first.

export const scheduleFields = {
  date: string("`dd/mm/yyyy`.", { required: true }),
  time: string("`HH:MM`.", { required: true }),
  timezone: string("IANA name of the zone of `date` and `time`. Default: UTC."),
}

export const expiryFields = {
  expire_after_seconds: integer("Counted from the due time; later the message is not sent."),
}

const slashed = /^(\d{2})\/(\d{2})\/(\d{4})$/

const dashed = /^(\d{2})-(\d{2})-(\d{4})$/

const clock = /^(\d{2}):(\d{2})$/

const parseDay = (form: RegExp, text: string): string | undefined => {
  const [, day, month, year] = form.exec(text.trim()) ?? []
  return day === undefined ? undefined : `${year}-${month}-${day}`
}

/** The start of a `dd-mm-yyyy` in UTC, in epoch milliseconds; undefined for any other text. */
export const startOfDay = (text: string): number | undefined => {
  const day = parseDay(dashed, text)
  return day === undefined ? undefined : parseInstant(`${day}T00:00Z`)?.millis
}

/** Epoch milliseconds. Fails with `invalid_date`, `invalid_time`, `invalid_timezone`. */
export const scheduledAt = ({
  date,
  time,
  timezone,
}: ReadFieldsV1<typeof scheduleFields>): Result.Result<number, FailureV1> => {
  const day = parseDay(slashed, date ?? "")
  if (day === undefined || parseInstant(`${day}T00:00Z`) === undefined) {
    return Result.fail(failV1("invalid_date"))
  }
  const hours = clock.exec((time ?? "").trim())?.[0]
  const instant = hours === undefined ? undefined : parseInstant(`${day}T${hours}Z`)
  if (instant === undefined) return Result.fail(failV1("invalid_time"))
  const zone = parseTimeZone(timezone?.trim() ?? "UTC")
  if (zone === undefined) return Result.fail(failV1("invalid_timezone"))
  return Result.succeed(momentInZone(instant.millis, zone))
}

/** Longer than any message waits; later dates cannot be written. */
const maximumSeconds = 100 * 366 * 86_400

/** Whole seconds; null for a message that does not expire. */
export const parseExpiry = ({ expire_after_seconds }: ReadFieldsV1<typeof expiryFields>) =>
  within(expire_after_seconds, null, 1, maximumSeconds, "invalid_expiry")

/** Epoch milliseconds as version 2's text, to the millisecond. */
export const instantText = (millis: number): string =>
  formatInstant(millis).replace("Z", `.${String(millis % 1000).padStart(3, "0")}Z`)
