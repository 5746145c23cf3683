/** The tables' collections, and the functions that work on them. */
import { getPage } from "@messaging-service/core"
import type { PageOf, PageQuery } from "@messaging-service/core"
import { Effect } from "effect"

const longestChunk = 512

/** Negative when `a` sorts before `b`; zero only for the same item. */
export type Order<A> = (a: A, b: A) => number

/**
 * A sorted collection that stays fast with a hundred thousand items: an array of short sorted
 * arrays. So a change moves only one of them, and a rank is a sum over their lengths.
 */
export class Sorted<A> implements Iterable<A> {
  readonly #order: Order<A>
  #chunks: Array<Array<A>> = []
  #size = 0

  constructor(order: Order<A>) {
    this.#order = order
  }

  get size(): number {
    return this.#size
  }

  get first(): A | undefined {
    return this.#chunks[0]?.[0]
  }

  /** Inserts an item in order; does nothing when it exists. */
  add(item: A): void {
    const isBefore = (other: A) => this.#order(other, item) < 0
    const at = Math.min(this.#chunkAt(isBefore), Math.max(this.#chunks.length - 1, 0))
    const chunk = this.#chunks[at]
    if (chunk === undefined) {
      this.#chunks.push([item])
      this.#size = 1
      return
    }
    const index = turningPoint(chunk, isBefore)
    const standing = chunk[index]
    if (standing !== undefined && this.#order(standing, item) === 0) return
    chunk.splice(index, 0, item)
    this.#size++
    if (chunk.length > longestChunk) {
      this.#chunks.splice(at + 1, 0, chunk.splice(longestChunk >> 1))
    }
  }

  /** Removes an item; does nothing when it does not exist. */
  delete(item: A): void {
    const isBefore = (other: A) => this.#order(other, item) < 0
    const at = this.#chunkAt(isBefore)
    const chunk = this.#chunks[at]
    if (chunk === undefined) return
    const index = turningPoint(chunk, isBefore)
    const standing = chunk[index]
    if (standing === undefined || this.#order(standing, item) !== 0) return
    chunk.splice(index, 1)
    this.#size--
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** The number of items at the front for which `isBefore` is true; it must be false for all later ones. */
  count(isBefore: (item: A) => boolean): number {
    const at = this.#chunkAt(isBefore)
    let count = 0
    for (let before = 0; before < at; before++) count += this.#chunks[before]?.length ?? 0
    const chunk = this.#chunks[at]
    return chunk === undefined ? count : count + turningPoint(chunk, isBefore)
  }

  /** The items for which `isBefore` is false. Do not change the collection meanwhile. */
  *from(isBefore: (item: A) => boolean): Generator<A> {
    const at = this.#chunkAt(isBefore)
    for (let index = at; index < this.#chunks.length; index++) {
      const chunk = this.#chunks[index] ?? []
      yield* index === at ? chunk.slice(turningPoint(chunk, isBefore)) : chunk
    }
  }

  *[Symbol.iterator](): Generator<A> {
    for (const chunk of this.#chunks) yield* chunk
  }

  /** The first chunk with an item for which `isBefore` is false. */
  #chunkAt(isBefore: (item: A) => boolean): number {
    return turningPoint(this.#chunks, (chunk) => isBefore(chunk[chunk.length - 1] as A))
  }
}

/** The first index for which `isBefore` is false. */
export const turningPoint = <A>(
  items: ReadonlyArray<A>,
  isBefore: (item: A) => boolean,
): number => {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(items[middle] as A)) low = middle + 1
    else high = middle
  }
  return low
}

/** The earliest moment; null when there is none. */
export const earliest = (instants: Iterable<number | null>): number | null => {
  let first: number | null = null
  for (const at of instants) if (at !== null && (first === null || at < first)) first = at
  return first
}

/** Records by ids that the table assigns: 1, 2, 3, … None is ever removed. */
export class Table<Id extends number, Row> {
  readonly #rows: Array<Row> = []
  /** Positions from which ids are greater than positions, and by how much; the latest last. */
  readonly #gaps: Array<{ readonly from: number; readonly by: number }> = [{ from: 0, by: 1 }]

  get nextId(): Id {
    return (this.#rows.length + (this.#gaps.at(-1)?.by ?? 1)) as Id
  }

  /** The next id is greater than the latest by `step` at least, and than `above`. */
  moveOn(step: number, above: number): void {
    const from = this.#rows.length
    this.#gaps.push({ from, by: Math.max(this.nextId, above) + step - from })
  }

  insert(make: (id: Id) => Row): Row {
    const row = make(this.nextId)
    this.#rows.push(row)
    return row
  }

  get(id: Id): Row | undefined {
    for (let at = this.#gaps.length - 1; at >= 0; at--) {
      const gap = this.#gaps[at]
      if (gap !== undefined && id - gap.by >= gap.from) {
        const index = id - gap.by
        return index < (this.#gaps[at + 1]?.from ?? this.#rows.length)
          ? this.#rows[index]
          : undefined
      }
    }
    return undefined
  }

  /** Oldest first. */
  get rows(): ReadonlyArray<Row> {
    return this.#rows
  }
}

/** The same, for records that are erased eventually; their ids are never reused. */
export class ErasableTable<Id extends number, Row> {
  readonly #rows = new Map<Id, Row>()
  #lastId = 0

  get nextId(): Id {
    return (this.#lastId + 1) as Id
  }

  /** Like `Table.moveOn`. */
  moveOn(step: number, above: number): void {
    this.#lastId = Math.max(this.#lastId, above) + step
  }

  /** `reserved`: an id that `moveOn` has passed. */
  insert(make: (id: Id) => Row, reserved?: Id): Row {
    const id = reserved ?? this.nextId
    const row = make(id)
    this.#lastId = Math.max(this.#lastId, id)
    this.#rows.set(id, row)
    return row
  }

  get(id: Id): Row | undefined {
    return this.#rows.get(id)
  }

  get size(): number {
    return this.#rows.size
  }

  erase(id: Id): void {
    this.#rows.delete(id)
  }
}

/** The maximum of rows in one step: then everything else in the process has its turn. */
const rowsPerStep = 1000

/** Visits every row, in steps, including rows added meanwhile. */
export const visitInSteps = <Row>(
  rows: Iterable<Row>,
  visit: (row: Row) => void,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    let left = rowsPerStep
    for (const row of rows) {
      if (left === 0) {
        yield* Effect.yieldNow
        left = rowsPerStep
      }
      left--
      visit(row)
    }
  })

/** The non-null results for the rows, in their order, computed in steps. */
export const collectInSteps = <Row, A>(
  rows: Iterable<Row>,
  make: (row: Row) => A | null,
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.suspend(() => {
    const found: Array<A> = []
    return Effect.as(
      visitInSteps(rows, (row) => {
        const created = make(row)
        if (created !== null) found.push(created)
      }),
      found,
    )
  })

/**
 * Visits rows in descending order of their ids from `start`, in steps, until the visit says that it
 * is enough. Removing a row meanwhile hides no other.
 */
const visitDownwards = <Row>(
  rows: ReadonlyArray<Row>,
  start: number,
  getId: (row: Row) => number,
  visit: (row: Row) => boolean,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    let left = rowsPerStep
    for (let index = start; index >= 0; index--) {
      const row = rows[index] as Row
      if (left === 0) {
        yield* Effect.yieldNow
        left = rowsPerStep
        if (rows[index] !== row) {
          const id = getId(row)
          index = turningPoint(rows, (other) => getId(other) <= id)
          continue
        }
      }
      left--
      if (visit(row)) return
    }
  })

/**
 * A page of rows in the order of their ids: the newest first, of the visible ones. A filter that
 * few rows pass reads many, so it works in steps.
 */
export const newestFirst = <Row, A extends { readonly id: number }>(
  rows: ReadonlyArray<Row>,
  { before, limit }: PageQuery,
  toItem: (row: Row) => A,
  isVisible: (row: Row) => boolean = () => true,
): Effect.Effect<PageOf<A>> =>
  Effect.suspend(() => {
    const end = before === null ? rows.length : turningPoint(rows, (row) => toItem(row).id < before)
    const found: Array<A> = []
    const visits = visitDownwards(
      rows,
      end - 1,
      (row) => toItem(row).id,
      (row) => {
        if (isVisible(row)) found.push(toItem(row))
        return found.length > limit
      },
    )
    return Effect.map(visits, () => getPage(found, limit))
  })

/**
 * As `newestFirst`, of rows that are also found among the newest `max` visible ones. It stops once the page
 * is full; `last` is the last row that was looked at.
 */
export const searchNewest = <Row>(
  rows: ReadonlyArray<Row>,
  { before, limit }: PageQuery,
  max: number,
  getId: (row: Row) => number,
  isVisible: (row: Row) => boolean,
  isFound: (row: Row) => boolean,
): Effect.Effect<{
  readonly found: ReadonlyArray<Row>
  readonly last: Row | null
  readonly isOver: boolean
}> =>
  Effect.suspend(() => {
    const end = before === null ? rows.length : turningPoint(rows, (row) => getId(row) < before)
    const found: Array<Row> = []
    let [last, checked]: [Row | null, number] = [null, 0]
    const isFull = () => found.length === limit || checked === max
    const visits = visitDownwards(rows, end - 1, getId, (row) => {
      if (!isVisible(row)) return false
      last = row
      checked++
      if (isFound(row)) found.push(row)
      return isFull()
    })
    return Effect.map(visits, () => ({ found, last, isOver: !isFull() }))
  })

/**
 * The operations of a port over the tables. Each is one synchronous step, which makes it atomic.
 * Two kinds return an effect: those that may fail, and those that read or tidy more rows than one
 * step allows, and need no snapshot.
 */
export type Steps<Port> = {
  readonly [Name in keyof Port]: Port[Name] extends (
    ...input: infer Input
  ) => Effect.Effect<infer A, infer E, infer R>
    ? (...input: Input) => A | Effect.Effect<A, E, R>
    : Port[Name]
}
