/** Lists in pages: read them record by record, page by page, or all at once. */
import type { Requester, RequestSpec, RequestOptions } from "./request.ts"

/** One page, newest first. */
export interface Page<Item> {
  readonly data: ReadonlyArray<Item>
  /** The `cursor` of the next page; null on the last one. */
  readonly next_cursor: string | null
}

/**
 * A list; creating it sends no request. `for await` yields its records, and requests the next page at
 * the end of each. Records that arrive meanwhile do not shift the pages. Pages hold 25 records; set
 * `limit` for up to 100.
 *
 * @example
 * for await (const message of client.messages.list({ status: ["failed"], limit: 100 })) report(message)
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** The first page, or that of the query's `cursor`. */
  page(): Promise<Page<Item>>
  /** Page after page, to the last one. */
  pages(): AsyncIterable<Page<Item>>
}

export const makeListing = <Item>(
  request: Requester,
  list: Pick<RequestSpec, "path" | "ids" | "query">,
  options: RequestOptions | undefined,
): Listing<Item> => {
  const page = async (cursor?: string): Promise<Page<Item>> => {
    const query = cursor === undefined ? list.query : { ...list.query, cursor }
    return (await request({ ...list, method: "GET", query, isPaged: true }, options)) as Page<Item>
  }
  async function* pages(): AsyncGenerator<Page<Item>, void> {
    let at: Page<Item> | undefined
    do {
      at = await page(at?.next_cursor ?? undefined)
      yield at
    } while (at.next_cursor !== null)
  }
  async function* items(): AsyncGenerator<Item, void> {
    for await (const { data } of pages()) yield* data
  }
  return { page: () => page(), pages, [Symbol.asyncIterator]: items }
}
