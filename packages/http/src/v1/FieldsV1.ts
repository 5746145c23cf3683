/**
 * The fields of version 1 requests. A table of them says what an operation takes, for the reader and
 * for the document, and reads it as version 1 does: numbers may come as strings of digits, empty
 * text counts as not given, and so does a value that is not text (an object, a list, true); fields that are
 * not in the table are ignored.
 */
import { Result } from "effect"
import type { JsonValue } from "../request/StrictJson.ts"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1, TextName } from "./FailureV1.ts"

/** The fields of a request as they came, before they are read by an operation's table. */
export interface BodyV1 {
  /** Whether it was given at all, if only as null or as nothing. */
  readonly has: (name: string) => boolean
  /** Null when it was not given; the last one, where a form gave several. */
  readonly one: (name: string) => JsonValue
  /** The members of a list, or what a form gave under that name, in their order. */
  readonly all: (name: string) => ReadonlyArray<JsonValue>
}

export interface FieldV1<A> {
  readonly type: "integer" | "string" | "strings" | "file"
  readonly required: boolean
  /** Whether null in JSON counts as not given. */
  readonly nullable: boolean
  readonly description: string
  readonly read: (body: BodyV1, name: string) => A
}

/** Something was given that cannot be read as what the field holds. */
export const unreadable = Symbol("unreadable")

export type Lenient<A> = A | null | typeof unreadable

const digits = /^-?\d{1,16}$/

/** A whole number; null when it was not given. */
export const integerOf = (value: JsonValue): Lenient<number> => {
  if (value === null || value === "") return null
  const number = typeof value === "string" && digits.test(value) ? Number(value) : value
  return typeof number === "number" && Number.isSafeInteger(number) ? number : unreadable
}

/** Text, or a number as it is written; null for everything else, the empty text included. */
export const textOf = (value: JsonValue): string | null => {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : null
  return typeof value === "string" && value !== "" ? value : null
}

/** Makes fields of that type, which are read in that way. */
const fieldOf =
  <A>(type: FieldV1<A>["type"], read: FieldV1<A>["read"], nullable = true) =>
  (description: string, { required = false } = {}): FieldV1<A> => ({
    type,
    required,
    nullable: nullable && !required,
    description,
    read,
  })

export const integer = fieldOf("integer", (body, name) => integerOf(body.one(name)))

/** As `integer`, but an empty text and null, which are no whole numbers, count as given. */
export const strictInteger = fieldOf(
  "integer",
  (body, name) => {
    const number = integerOf(body.one(name))
    return number === null && body.has(name) ? unreadable : number
  },
  false,
)

/** Whether it is a whole number, however large, as a number or as its digits. */
export const isWholeNumber = (value: JsonValue): boolean =>
  typeof value === "string" ? /^-?\d+$/.test(value) : Number.isInteger(value)

export const string = fieldOf("string", (body, name) => textOf(body.one(name)))

/** A file, which is not read as a field: it is in the table for the document alone. */
export const file = fieldOf("file", () => null)

/** The members of a text with commas between them; empty ones without spaces are passed over. */
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

function* membersOf(values: ReadonlyArray<JsonValue>): Generator<string | null> {
  for (const value of values) {
    if (typeof value === "string") yield* commaSeparated(value)
    else yield textOf(value)
  }
}

/**
 * A list, or texts with commas between them, which must be given. Empty places are passed over; a
 * member that is not a text is null. Of a list that is longer than `most` one member more is read, and
 * none beyond.
 */
export const strings = (most: number, description: string) =>
  fieldOf("strings", (body, name) => {
    const members: Array<string | null> = []
    for (const member of membersOf(body.all(name))) {
      if (member === "") continue
      members.push(member)
      if (members.length > most) break
    }
    return members
  })(description, { required: true })

export type FieldsV1 = Readonly<Record<string, FieldV1<unknown>>>

export type ReadFieldsV1<Fields extends FieldsV1> = {
  readonly [Name in keyof Fields]: Fields[Name] extends FieldV1<infer A> ? A : never
}

/** A request by its fields. JSON carries no file, and so no example names one. */
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

/** An id that is not a positive integer is treated as unknown. */
export const idOf = <Id extends number>(given: Lenient<number>): Id | undefined =>
  typeof given === "number" && given > 0 ? (given as Id) : undefined

/** A whole number within those bounds; `otherwise` when it was not given. Fails with that text. */
export const within = <Otherwise>(
  given: Lenient<number>,
  otherwise: Otherwise,
  least: number,
  most: number,
  failure: TextName,
): Result.Result<number | Otherwise, FailureV1> => {
  if (given === null) return Result.succeed(otherwise)
  return given === unreadable || given < least || given > most
    ? Result.fail(failV1(failure))
    : Result.succeed(given)
}

/** One of those words; null when none was given. Fails with that text. */
export const oneOf = <Word extends string>(
  given: string | null,
  words: ReadonlyArray<Word>,
  failure: TextName,
): Result.Result<Word | null, FailureV1> => {
  if (given === null) return Result.succeed(null)
  const word = words.find((known) => known === given)
  return word === undefined ? Result.fail(failV1(failure)) : Result.succeed(word)
}

export const pageField = integer("1 when left out.")

/** No workspace has so many records that it comes so far. */
const lastPage = 1_000_000_000

export const pageOf = (given: Lenient<number>) => within(given, 1, 1, lastPage, "invalid_page")

export interface LimitV1 {
  readonly otherwise: number
  readonly most: number
}

export const limitField = ({ most, otherwise }: LimitV1) =>
  integer(`Records of a page; ${otherwise} when left out, at most ${most}.`)

/** A larger limit than is allowed counts as the largest. */
export const limitOf = (given: Lenient<number>, { most, otherwise }: LimitV1) =>
  Result.map(within(given, otherwise, 1, Infinity, "invalid_limit"), (limit) =>
    Math.min(limit, most),
  )

export const offsetField = integer("Records to leave out at the front; 0 when left out.")

export const offsetOf = (given: Lenient<number>) => within(given, 0, 0, Infinity, "invalid_offset")
