/**
 * Reads rows by position without ever passing one over.
 *
 * Positions come from a sequence: a transaction that took a smaller one may commit later, and a
 * reader that has gone past it would never see it. So a reader stops before a gap until it is known
 * that it will stay empty. A transaction has an id of its own before it takes a position; once all
 * that were under way when the gap was first seen are over, what is still missing was rolled back.
 */
import type { StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "./Database.ts"
import { statement } from "./Sql.ts"

const firstUnderWay = statement("outbox.underWay")
const startsNow = statement("outbox.beginsNow")

/** Number of remembered gaps; readers at other gaps look twice. */
const remembered = 64

interface Positioned {
  readonly id: bigint
}

/** The rows behind a position, oldest first, up to a gap that may still be filled. */
export const positionReader = <Row extends Positioned>(
  database: DatabaseService,
  find: (after: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>,
) => {
  /** The position before a gap, and the first transaction that cannot fill it. */
  const gaps = new Map<number, bigint>()

  /** Transactions before `first` may yet fill the gap after `before`. */
  const remember = (before: number, first: bigint) => {
    gaps.set(before, first)
    const oldest = gaps.keys().next().value
    if (gaps.size > remembered && oldest !== undefined) gaps.delete(oldest)
  }

  /** The rows up to the first gap that may still be filled; `gap` if it is seen for the first time. */
  const settled = (after: number, rows: ReadonlyArray<Row>, over: bigint) => {
    let before = after
    for (const [index, row] of rows.entries()) {
      const id = Number(row.id)
      if (id !== before + 1) {
        const first = gaps.get(before)
        if (first === undefined) return { rows: rows.slice(0, index), gap: before }
        if (over < first) return { rows: rows.slice(0, index), gap: null }
      }
      gaps.delete(before)
      before = id
    }
    return { rows, gap: null }
  }

  const allOverBefore = firstUnderWay.one(database, {}, ({ id }) => id)
  const transactionNow = startsNow.one(database, {}, ({ id }) => id)

  return Effect.fnUntraced(function* read(
    after: number,
    limit: number,
  ): Effect.fn.Return<ReadonlyArray<Row>, StoreUnavailable> {
    const all: Array<Row> = []
    let position = after
    let over = yield* allOverBefore
    for (;;) {
      const found = yield* find(position, limit - all.length)
      const { gap, rows } = settled(position, found, over)
      all.push(...rows)
      const last = rows.at(-1)
      if (gap === null && (all.length > 0 || last === undefined)) return all
      if (gap !== null) remember(gap, yield* transactionNow)
      // Past the gaps that are over: they are forgotten, and each would be looked at again.
      if (last !== undefined) position = Number(last.id)
      over = yield* allOverBefore
    }
  })
}
