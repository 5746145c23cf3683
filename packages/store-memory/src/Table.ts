/** Records by an id that the table gives out: 1, 2, 3, … None is ever taken out. */
import type { PageOf, PageQuery } from "@messaging-service/core"
import { pageOf } from "@messaging-service/core"
import { turningPoint } from "./Sorted.ts"

export class Table<Id extends number, Row> {
  readonly #rows: Array<Row> = []

  /** Of the record that is inserted next. */
  get nextId(): Id {
    return (this.#rows.length + 1) as Id
  }

  insert(make: (id: Id) => Row): Row {
    const row = make(this.nextId)
    this.#rows.push(row)
    return row
  }

  get(id: Id): Row | undefined {
    return this.#rows[id - 1]
  }

  /** Oldest first. */
  get rows(): ReadonlyArray<Row> {
    return this.#rows
  }
}

/**
 * A page of records that stand in the order of their ids, newest first, of those that `pick` does
 * not turn away.
 */
export const newestFirst = <Row, A extends { readonly id: number }>(
  rows: ReadonlyArray<Row>,
  query: PageQuery,
  idOf: (row: Row) => number,
  pick: (row: Row) => A | null,
): PageOf<A> => {
  const { before, limit } = query
  const end = before === null ? rows.length : turningPoint(rows, (row) => idOf(row) < before)
  const found: Array<A> = []
  for (let index = end - 1; index >= 0 && found.length <= limit; index--) {
    const item = pick(rows[index] as Row)
    if (item !== null) found.push(item)
  }
  return pageOf(found, limit)
}
