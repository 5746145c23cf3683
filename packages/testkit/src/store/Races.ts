/** Doing many things at once. */

export const atOnce = { concurrency: "unbounded" } as const

/** 0, 1, … up to, not including, `length`. */
export const range = (length: number): ReadonlyArray<number> =>
  Array.from({ length }, (_, index) => index)
