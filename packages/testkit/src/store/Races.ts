/** Concurrent operations. */
import type { StoreContractOptions } from "./Topic.ts"

export const atOnce = { concurrency: "unbounded" } as const

/** 0, 1, … up to, not including, `length`. */
export const range = (length: number): ReadonlyArray<number> =>
  Array.from({ length }, (_, index) => index)

/**
 * Rounds of a race: `many` where operations overlap. Sequential stores vary only in order, and slow
 * ones get one round.
 */
export const raceRounds = (
  { parallel, quick }: Required<StoreContractOptions>,
  many: number,
): ReadonlyArray<number> => range(parallel ? many : quick ? 3 : 1)
