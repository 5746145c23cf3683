/**
 * Parameters and values as text, for connections that are not our own: every client library sends a
 * text as it is, while each has ideas of its own about numbers, times and lists.
 */
import { PgTypes } from "@effect/sql-pg"
import { oids } from "./SqlTypes.ts"

const { OID } = PgTypes

/** The names of types that parameters have. */
const typeNames = new Map<number, string>(Object.entries(oids).map(([name, oid]) => [oid, name]))

const timeText = (instant: number): string =>
  Number.isFinite(instant)
    ? new Date(instant).toISOString()
    : instant > 0
      ? "infinity"
      : "-infinity"

/** One value as PostgreSQL reads it; `oid` is that of the value or of its list. */
const scalarText = (oid: number, value: unknown): string => {
  switch (oid) {
    case OID.jsonb:
    case OID.jsonbArray:
      return JSON.stringify(value)
    case OID.timestamptz:
    case OID.timestamptzArray:
      return timeText(value instanceof Date ? value.getTime() : Number(value))
    default:
      return String(value)
  }
}

const element = (oid: number, value: unknown): string =>
  value === null ? "null" : `"${scalarText(oid, value).replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** A parameter as text; null for null. */
const parameterText = ({ oid, value }: PgTypes.Parameter): string | null => {
  if (value == null) return null
  return Array.isArray(value) && oid !== OID.jsonb
    ? `{${value.map((one) => element(oid, one)).join(",")}}`
    : scalarText(oid, value)
}

export interface TextStatement {
  readonly text: string
  readonly values: Array<string | null>
}

/**
 * A statement with all parameters sent as text, and turned into their types by the server. One that
 * the text does not name is left out, for the server would not know its type.
 */
export const asText = (text: string, parameters: ReadonlyArray<unknown>): TextStatement => {
  const values: Array<string | null> = []
  const placeholders = new Map<string, string>()
  const toPlaceholder = (number: string): string => {
    const before = placeholders.get(number)
    if (before !== undefined) return before
    const parameter = parameters[Number(number) - 1]
    const isTyped = PgTypes.isParameter(parameter)
    const type = isTyped ? typeNames.get(parameter.oid) : undefined
    values.push(isTyped ? parameterText(parameter) : parameter == null ? null : String(parameter))
    const placeholder = `$${values.length}`
    const cast = type === undefined ? placeholder : `(${placeholder}::text::${type})`
    placeholders.set(number, cast)
    return cast
  }
  return { text: text.replaceAll(/\$(\d+)/g, (_, number: string) => toPlaceholder(number)), values }
}

type Decode = (text: string) => unknown

/** `2026-03-02 12:00:00.25+00`; what JavaScript has no time for is not valid. */
const toDate: Decode = (text) => {
  const iso = text.replace(" ", "T")
  return new Date(/[+-]\d\d$/.test(iso) ? `${iso}:00` : iso)
}

const scalars = new Map<number, Decode>([
  [OID.int8, BigInt],
  [OID.int4, Number],
  [OID.int2, Number],
  [OID.oid, Number],
  [OID.float4, Number],
  [OID.float8, Number],
  [OID.bool, (text) => text === "t"],
  [OID.json, JSON.parse],
  [OID.jsonb, JSON.parse],
  [OID.timestamptz, toDate],
])

const asItIs: Decode = (text) => text

/** The elements of `{1,null,"a \"b\""}`; lists of lists are not among our types. */
const listOf =
  (decode: Decode): Decode =>
  (text) =>
    Array.from(text.matchAll(/(?<=[{,])(?:"((?:[^"\\]|\\.)*)"|([^{},]+))/g), ([, quoted, plain]) =>
      quoted === undefined
        ? plain === "NULL"
          ? null
          : decode(plain ?? "")
        : decode(quoted.replaceAll(/\\(.)/gs, "$1")),
    )

const lists = new Map<number, Decode>(
  [
    [OID.int8Array, OID.int8],
    [OID.int4Array, OID.int4],
    [OID.int2Array, OID.int2],
    [OID.boolArray, OID.bool],
    [OID.textArray, OID.text],
    [OID.jsonbArray, OID.jsonb],
    [OID.timestamptzArray, OID.timestamptz],
  ].map(([list = 0, one = 0]) => [list, listOf(scalars.get(one) ?? asItIs)]),
)

/** What a column of that type holds, made from its text as our own connections make it. */
export const findDecoder = (oid: number): Decode => scalars.get(oid) ?? lists.get(oid) ?? asItIs
