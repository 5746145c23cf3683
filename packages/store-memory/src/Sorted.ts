/**
 * A sorted collection that stays quick at a hundred thousand items: an array of short sorted arrays,
 * so that no change moves more than one of them, and ranks are sums over their lengths.
 */

const longestChunk = 512

/** Negative when `a` stands before `b`; zero only for the same item. */
export type Order<A> = (a: A, b: A) => number

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

  /** Puts an item into its place; does nothing when it is there already. */
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

  /** Takes an item out; does nothing when it is not there. */
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

  /** How many items stand at the front of which `isBefore` is true; it must turn false once. */
  count(isBefore: (item: A) => boolean): number {
    const at = this.#chunkAt(isBefore)
    let count = 0
    for (let before = 0; before < at; before++) count += this.#chunks[before]?.length ?? 0
    const chunk = this.#chunks[at]
    return chunk === undefined ? count : count + turningPoint(chunk, isBefore)
  }

  /** The items behind those of which `isBefore` is true. Do not change the collection meanwhile. */
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

  /** The first chunk that holds an item of which `isBefore` is false. */
  #chunkAt(isBefore: (item: A) => boolean): number {
    return turningPoint(this.#chunks, (chunk) => isBefore(chunk[chunk.length - 1] as A))
  }
}

/** The index from which on `isBefore` is false. */
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
