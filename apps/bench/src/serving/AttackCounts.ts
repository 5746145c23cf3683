/** What an attacked process counts, from one look to the next. */
export interface AttackCounts {
  /** Handlers that were under way at once, at most. */
  readonly handlers: number
  /** Handlers that were begun. */
  readonly started: number
  /** Times that the store was asked for a key. */
  readonly lookUps: number
  /** MiB of memory at most, above those of the look before. */
  readonly mebibytes: number
}

/** Address where the process reports and resets its counts. */
export const countsPath = "/bench/counts"
