/** Keyset pages: newest first by descending id, so that items added meanwhile shift nothing. */

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
