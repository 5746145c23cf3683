/** What an attacked process counted since the last reading. */
export interface AttackCounts {
  /** The most handlers that ran at once. */
  readonly peakConcurrentHandlers: number
  /** Handlers that started. */
  readonly started: number
  /** Key look-ups in the store. */
  readonly lookUps: number
  /** The most memory above that of the last reading. */
  readonly peakMemoryGrowthMiB: number
}

/** Address where the process reports and resets its counts. */
export const countsPath = "/bench/counts"
