/**
 * Keyset pages, newest first by descending id, so that new items shift nothing. Cursors are opaque,
 * signed and bound to their list (contract: Pages and cursors). Any other text is `invalid_cursor`.
 */
import { Effect, Result, Schema } from "effect"
import type { SchemaIssue } from "effect"
import { refuse } from "./Refusal.ts"
import type { Code, Refusal } from "./Refusal.ts"
import { sameSecret, Secrets, sign } from "./Secrets.ts"
import { momentText } from "./Time.ts"
import { decoded, fieldDecoder, refusedFor, requireFitTexts } from "./Input.ts"

export const defaultLimit = 25
const maximumLimit = 100

export interface PageQuery {
  /** Only records with a smaller id; null for the first page. */
  readonly before: number | null
  readonly limit: number
}

/** `next` is the `before` of the following page; null on the last one. */
export interface PageOf<A> {
  readonly items: ReadonlyArray<A>
  readonly next: number | null
}

/**
 * Makes a page from rows read with `limit + 1`: the extra row only tells that there are more.
 */
export const getPage = <A extends { readonly id: number }>(
  rows: ReadonlyArray<A>,
  limit: number,
): PageOf<A> => {
  if (rows.length <= limit) return { items: rows, next: null }
  const items = rows.slice(0, limit)
  return { items, next: items[items.length - 1]?.id ?? null }
}

/** A page as a caller is given it; `next` is the cursor of the following one, null on the last. */
export interface CursorPage<A> {
  readonly items: ReadonlyArray<A>
  readonly next: string | null
}

/**
 * What a cursor is bound to: the resource, its owner, and every filter. The limit is not among
 * them.
 */
export type CursorBinding = ReadonlyArray<string | number | null | ReadonlyArray<string | number>>

/** The cursor of the page that follows that position. */
const toCursor = (
  secret: string,
  position: ReadonlyArray<number>,
  binding: CursorBinding,
): string =>
  `${position.map((part) => part.toString(36)).join("-")}.${sign(secret, [...position, binding])}`

/** The position that a cursor of this list continues after; undefined for any other text. */
const readPosition = (
  secret: string,
  cursor: string,
  binding: CursorBinding,
): ReadonlyArray<number> | undefined => {
  const parts = cursor.slice(0, cursor.indexOf(".")).split("-")
  const position = parts.map((part) => Number.parseInt(part, 36))
  if (!position.every(Number.isSafeInteger)) return undefined
  return sameSecret(cursor, toCursor(secret, position, binding)) ? position : undefined
}

/** The cursor of the page that follows the record with this id. */
export const makeCursor = (secret: string, before: number, binding: CursorBinding): string =>
  toCursor(secret, [before], binding)

/** The id that a cursor of this list continues after; undefined for any other text. */
export const readCursor = (
  secret: string,
  cursor: string,
  binding: CursorBinding,
): number | undefined => readPosition(secret, cursor, binding)?.[0]

interface PageRequest {
  readonly limit?: number
  readonly cursor?: string | null
}

/** Makes pages of lists. */
export const makeCursors = /*#__PURE__*/ Effect.map(Secrets, ({ keys: { cursors: secret } }) => {
  /** The page of a list in which several numbers say where it continues. Fails with `invalid_cursor`. */
  const pageByPosition = Effect.fnUntraced(function* <A, E>(
    request: PageRequest,
    binding: CursorBinding,
    load: (
      position: ReadonlyArray<number> | null,
      limit: number,
    ) => Effect.Effect<
      { readonly items: ReadonlyArray<A>; readonly next: ReadonlyArray<number> | null },
      E
    >,
  ): Effect.fn.Return<CursorPage<A>, E | Refusal<"invalid_cursor">> {
    const { cursor = null, limit = defaultLimit } = request
    const position = cursor === null ? null : readPosition(secret, cursor, binding)
    if (position === undefined) return yield* refuse("invalid_cursor", { field: "cursor" })
    const { items, next } = yield* load(position, limit)
    return { items, next: next === null ? null : toCursor(secret, next, binding) }
  })
  return {
    pageByPosition,
    /** The page that is asked for of the list of that binding. Fails with `invalid_cursor`. */
    page: <A, E>(
      request: PageRequest,
      binding: CursorBinding,
      load: (page: PageQuery) => Effect.Effect<PageOf<A>, E>,
    ): Effect.Effect<CursorPage<A>, E | Refusal<"invalid_cursor">> =>
      pageByPosition(request, binding, (position, limit) =>
        Effect.map(load({ before: position?.[0] ?? null, limit }), ({ items, next }) => ({
          items,
          next: next === null ? null : [next],
        })),
      ),
  }
})

// What lists are asked for, `limit` and `cursor` of all of them (contract: Pages and cursors).

const integer = /^-?\d{1,15}$/

/** Which page of a list. */
export interface ListPage {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** A value as the text that a query has in its place. */
const queryText = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.join(",")
  return typeof value === "number" || typeof value === "boolean" ? String(value) : momentText(value)
}

/** A caller may pass any value, whatever the type says; the decoder refuses all but objects. */
const inText = (query: unknown): unknown =>
  typeof query !== "object" || query === null || Array.isArray(query)
    ? query
    : Object.fromEntries(
        Object.entries(query).flatMap(([name, value]: readonly [string, unknown]) =>
          value === undefined ? [] : [[name, queryText(value)]],
        ),
      )

/** Query text for a value of that JSON Schema. */
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
  return decoded(text, (value: string): ReadonlyArray<Name> | SchemaIssue.Issue => {
    const each = value.split(",")
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

/** True or false, given in a query. */
export const queryBoolean = (description: string) =>
  decoded(textFor(description, { type: "boolean" }), (text: string) =>
    text === "true" || text === "false" ? text === "true" : refusedFor("must be true or false"),
  )

export const pageFields = {
  limit: Schema.optionalKey(LimitInput),
  cursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "From the answer with the page before; other filters must stay the same.",
    }),
  ),
}

/**
 * A decoder for what a list is asked, by name, in the order of the schema's fields: text as in a
 * query, or the value itself.
 */
export const queryDecoder = <
  S extends Schema.Top & { readonly DecodingServices: never },
  const C extends Code = never,
>(
  schema: S,
  codes: ReadonlyArray<C> = [],
) => {
  const decode = fieldDecoder(schema, { codes })
  return (query: object): ReturnType<typeof decode> => {
    const value = inText(query)
    return Result.flatMap(decode(value), (request) =>
      Result.map(requireFitTexts(withoutCursor(value)), () => request),
    )
  }
}

/** No store reads a cursor: any text but one of ours is `invalid_cursor`. */
const withoutCursor = (value: unknown): unknown => Object.assign({}, value, { cursor: undefined })

/** The query of a list that has no filters. */
export const PageInput = Schema.Struct(pageFields)

/** As `PageInput`. */
export const parsePageRequest = queryDecoder(PageInput)
