/** `limit` and `cursor` of a paged list, and queries as records (contract: Pages and cursors). */
import { Result, Schema } from "effect"
import type { SchemaIssue } from "effect"
import { problem, problemsOf, refuseAll } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import { momentText } from "../time/Instant.ts"
import { decoded, fieldDecoder, refusedAs } from "./Input.ts"
import { defaultLimit, maximumLimit } from "./Page.ts"

/** The parameters of a query string, decoded, in their order. */
export type QueryEntries = ReadonlyArray<readonly [string, string]>

const integer = /^-?\d{1,15}$/

/** What an operation that lists is asked for, by name: text as in a query, or the value itself. */
export type TypedQuery = object

/** Which page of a list. */
export interface ListPage {
  readonly limit?: number
  readonly cursor?: string
}

const isEntries = (query: TypedQuery | QueryEntries): query is QueryEntries => Array.isArray(query)

/** A value as the text that a query has in its place. */
const queryText = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.join(",")
  return typeof value === "number" || typeof value === "boolean" ? String(value) : momentText(value)
}

const typedRecord = (query: TypedQuery): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, queryText(value)]],
    ),
  )

/** Text in a query that stands for a value of that JSON Schema. */
export const textFor = (description: string, parameter: Readonly<Record<string, unknown>>) =>
  Schema.String.annotate({ description, parameter })

/** One or several of these names, in any order. */
export const namesInput = <Name extends string>(names: ReadonlyArray<Name>) => {
  const isName = (text: string): text is Name => (names as ReadonlyArray<string>).includes(text)
  const text = textFor("One or several, comma-separated.", {
    type: "array",
    items: { type: "string", enum: names },
    minItems: 1,
  })
  return decoded(text, (given: string): ReadonlyArray<Name> | SchemaIssue.Issue => {
    const each = given.split(",")
    return each.every(isName) ? [...new Set(each)].toSorted() : refusedAs("validation_failed")
  })
}

const LimitText = textFor("Records of a page.", {
  type: "integer",
  minimum: 1,
  maximum: maximumLimit,
  default: defaultLimit,
})

const LimitInput = decoded(LimitText, (text: string) => {
  const limit = integer.test(text) ? Number(text) : Number.NaN
  return limit >= 1 && limit <= maximumLimit ? limit : refusedAs("validation_failed")
})

/** An id given in a query; anything but a positive integer is refused. */
export const queryId = (description: string) =>
  decoded(textFor(description, { type: "integer", minimum: 1 }), (text: string) =>
    /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
      ? Number(text)
      : refusedAs("validation_failed"),
  )

export const pageFields = {
  limit: Schema.optionalKey(LimitInput),
  cursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "`next_cursor` of the page before; other filters must stay the same.",
    }),
  ),
}

export const limitOf = (query: { readonly limit?: number }): number => query.limit ?? defaultLimit

/** Code points of a name in a message; a longer one stands in `field` already. */
const longestName = 40

const short = (name: string): string => {
  const points = [...name]
  return points.length <= longestName ? name : `${points.slice(0, longestName).join("")}…`
}

/** A problem with a query parameter, named in `field` and in the message. */
const named = (refusal: Refusal): Refusal => {
  const [first, ...rest] = problemsOf(refusal).map(({ code, field, message }) =>
    problem(code, field, field === null ? message : `${short(field)}: ${message}`),
  )
  return first === undefined ? refusal : refuseAll(first, rest)
}

/**
 * A query as a record; a repeated parameter is `validation_failed` (contract: Requests and
 * answers).
 */
export const queryRecord = (
  entries: QueryEntries,
): Result.Result<Readonly<Record<string, string>>, Refusal> => {
  const record: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of entries) {
    if (name in record) {
      return Result.fail(
        named(refuseAll(problem("validation_failed", name, "must be given only once"), [])),
      )
    }
    record[name] = value
  }
  return Result.succeed(record)
}

/** A decoder for the parameters of a query, in the order of the schema's fields. */
export const queryDecoder = <
  S extends Schema.Top & {
    readonly DecodingServices: never
    readonly fields: Readonly<Record<string, unknown>>
  },
>(
  schema: S,
) => {
  const decode = fieldDecoder(schema, Object.keys(schema.fields))
  const read = (record: Readonly<Record<string, unknown>>) => Result.mapError(decode(record), named)
  return (query: TypedQuery | QueryEntries): Result.Result<S["Type"], Refusal> =>
    isEntries(query) ? Result.flatMap(queryRecord(query), read) : read(typedRecord(query))
}

/** The query of an operation that takes none: any parameter in it is unknown, on every path. */
export const refuseQuery = (entries: QueryEntries): Result.Result<void, Refusal> => {
  const [first, ...rest] = entries.map(([name]) =>
    problem("validation_failed", name, "is not a known field"),
  )
  return first === undefined ? Result.void : Result.fail(named(refuseAll(first, rest)))
}

/** The query of a list that has no filters. */
export const PageInput = Schema.Struct(pageFields)

const decodePage = queryDecoder(PageInput)

/** As `PageInput`. */
export const parsePageRequest = (
  given: ListPage | QueryEntries,
): Result.Result<{ readonly limit: number; readonly cursor: string | null }, Refusal> =>
  Result.map(decodePage(given), (query) => ({
    limit: limitOf(query),
    cursor: query.cursor ?? null,
  }))
