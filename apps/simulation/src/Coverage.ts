/**
 * Coverage of the runs: outcomes of the store's operations (each guard of a commit among them), outcomes of
 * transports, refusals to callers. A guard that no seed hits is a gap of the simulation.
 */
export class Coverage {
  readonly #hits = new Map<string, number>()

  hit(point: string): void {
    this.#hits.set(point, (this.#hits.get(point) ?? 0) + 1)
  }

  /** Adds another one's counts. */
  add(hits: Iterable<readonly [string, number]>): void {
    for (const [point, count] of hits) this.#hits.set(point, (this.#hits.get(point) ?? 0) + count)
  }

  /** Points with their hit counts, by name. */
  get hits(): ReadonlyArray<readonly [string, number]> {
    return Array.from(this.#hits).toSorted(([a], [b]) => (a < b ? -1 : 1))
  }

  /** The expected points without a hit. */
  missing(expected: Iterable<string>): ReadonlyArray<string> {
    return Array.from(expected).filter((point) => !this.#hits.has(point))
  }
}
