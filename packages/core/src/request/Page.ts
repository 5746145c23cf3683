/**
 * Keyset pages: newest first by descending id, so that items added meanwhile shift nothing. And their
 * cursors: opaque, signed, and bound to the list they were made for (contract: Pages and cursors).
 * Anything but the exact string given out is `invalid_cursor`.
 */
import { Effect } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import { sameSecret, signatureOf } from "../secret/hashing.ts"
import { Secrets } from "../secret/Secrets.ts"

export const defaultLimit = 25
export const maximumLimit = 100

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
export const pageOf = <A extends { readonly id: number }>(
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

/** The page envelope of an answer (contract: Pages and cursors). */
export interface JsonPage<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/**
 * What a cursor is bound to: the resource, whose it is, and every filter. The limit is not among
 * them.
 */
export type CursorBinding = ReadonlyArray<string | number | null | ReadonlyArray<string | number>>

/** The cursor of the page that follows the record with this id. */
export const makeCursor = (secret: string, before: number, binding: CursorBinding): string =>
  `${before.toString(36)}.${signatureOf(secret, [before, binding])}`

/** The id that a cursor of this list continues after; undefined for any other text. */
export const readCursor = (
  secret: string,
  cursor: string,
  binding: CursorBinding,
): number | undefined => {
  const before = Number.parseInt(cursor.slice(0, cursor.indexOf(".")), 36)
  if (!Number.isSafeInteger(before)) return undefined
  return sameSecret(cursor, makeCursor(secret, before, binding)) ? before : undefined
}

/** Makes pages of lists. */
export const makeCursors = /*#__PURE__*/ Effect.map(Secrets, ({ keys: { cursors: secret } }) => ({
  /** The page that is asked for of the list of that binding. Fails with `invalid_cursor`. */
  page: Effect.fnUntraced(function* <A, E>(
    asked: { readonly limit?: number; readonly cursor?: string | null },
    binding: CursorBinding,
    load: (page: PageQuery) => Effect.Effect<PageOf<A>, E>,
  ): Effect.fn.Return<CursorPage<A>, E | Refusal> {
    const { cursor = null, limit = defaultLimit } = asked
    const before = cursor === null ? null : readCursor(secret, cursor, binding)
    if (before === undefined) return yield* refuse("invalid_cursor", { field: "cursor" })
    const { items, next } = yield* load({ before, limit })
    return { items, next: next === null ? null : makeCursor(secret, next, binding) }
  }),
}))
