/** Doing many things at once. */
import type { StoreContractOptions } from "./Topic.ts"

export const atOnce = { concurrency: "unbounded" } as const

/** 0, 1, … up to, not including, `length`. */
export const range = (length: number): ReadonlyArray<number> =>
  Array.from({ length }, (_, index) => index)

/**
 * Rounds of a race: `many` where operations overlap. Where one follows the other, only their order is
 * left to chance, and what takes long there has one round.
 */
export const roundsOf = (
  { parallel, quick }: Required<StoreContractOptions>,
  many: number,
): ReadonlyArray<number> => range(parallel ? many : quick ? 3 : 1)
