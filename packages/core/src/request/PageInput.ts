/** What lists are asked for, `limit` and `cursor` of all of them (contract: Pages and cursors). */
import { Result, Schema } from "effect"
import type { SchemaIssue } from "effect"
import { problem, problemsOf, refuseAll } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import { momentText } from "../time/Instant.ts"
import { decoded, fieldDecoder, refusedFor } from "./Input.ts"
import { defaultLimit, maximumLimit } from "./Page.ts"

const integer = /^-?\d{1,15}$/

/** Which page of a list. */
export interface ListPage {
  readonly limit?: number
  readonly cursor?: string
}

/** A value as the text that a query has in its place. */
const queryText = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.join(",")
  return typeof value === "number" || typeof value === "boolean" ? String(value) : momentText(value)
}

/** What is given may be anything, whatever its type says; the decoder refuses what is no object. */
const inText = (query: unknown): unknown =>
  typeof query !== "object" || query === null || Array.isArray(query)
    ? query
    : Object.fromEntries(
        Object.entries(query).flatMap(([name, value]: readonly [string, unknown]) =>
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
  const rule = `must be one or several of ${names.join(", ")}`
  return decoded(text, (given: string): ReadonlyArray<Name> | SchemaIssue.Issue => {
    const each = given.split(",")
    return each.every(isName) ? [...new Set(each)].toSorted() : refusedFor(rule)
  })
}

const LimitText = textFor("Records of a page.", {
  type: "integer",
  minimum: 1,
  maximum: maximumLimit,
  default: defaultLimit,
})

const limitRule = `must be a whole number from 1 to ${maximumLimit}`

const LimitInput = decoded(LimitText, (text: string) => {
  const limit = integer.test(text) ? Number(text) : Number.NaN
  return limit >= 1 && limit <= maximumLimit ? limit : refusedFor(limitRule)
})

/** An id given in a query; anything but a positive integer is refused. */
export const queryId = (description: string) =>
  decoded(textFor(description, { type: "integer", minimum: 1 }), (text: string) =>
    /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))
      ? Number(text)
      : refusedFor("must be an id, a whole number from 1"),
  )

export const pageFields = {
  limit: Schema.optionalKey(LimitInput),
  cursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "`next_cursor` of the page before; other filters must stay the same.",
    }),
  ),
}

/** Code points of a name in a message; a longer one stands in `field` already. */
const longestName = 40

const short = (name: string): string => {
  const points = [...name]
  return points.length <= longestName ? name : `${points.slice(0, longestName).join("")}…`
}

/** The refusal of parameters: each is named in `field` and in its message. */
export const refuseParameters = (problems: ReadonlyArray<Problem>): Refusal => {
  const named = problems.map(({ code, field, message }) =>
    problem(code, field, field === null ? message : `${short(field)}: ${message}`),
  )
  const [first = problem("validation_failed", null), ...rest] = named
  return refuseAll(first, rest)
}

/**
 * A decoder for what a list is asked, by name, in the order of the schema's fields: text as in a
 * query, or the value itself.
 */
export const queryDecoder = <S extends Schema.Top & { readonly DecodingServices: never }>(
  schema: S,
) => {
  const decode = fieldDecoder(schema)
  return (query: object): Result.Result<S["Type"], Refusal> =>
    Result.mapError(decode(inText(query)), (refusal) => refuseParameters(problemsOf(refusal)))
}

/** The query of a list that has no filters. */
export const PageInput = Schema.Struct(pageFields)

/** As `PageInput`. */
export const parsePageRequest = queryDecoder(PageInput)
