/**
 * Pages by offset with a total, as version 1 shows its lists. What is added meanwhile shifts them;
 * `Page.ts` has those that do not shift.
 */

export interface OffsetQuery {
  /** Records to leave out at the front. */
  readonly offset: number
  readonly limit: number
}

export interface OffsetPage<A> {
  /** Of all pages. */
  readonly total: number
  readonly items: ReadonlyArray<A>
}

/** Page `page` (1 is the first) of a list with that many records on a page. */
export const offsetOfPage = (page: number, size: number): OffsetQuery => ({
  offset: (page - 1) * size,
  limit: size,
})

export const mapOffsetPage = <A, B>(
  { items, total }: OffsetPage<A>,
  map: (item: A) => B,
): OffsetPage<B> => ({ total, items: items.map(map) })
