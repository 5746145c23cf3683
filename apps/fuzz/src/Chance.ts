/**
 * Repeatable chance: the same numbers give the same draws. Every draw takes exactly one step,
 * whatever its kind, so a request's draws do not depend on how many ids the run has seen before it.
 */

export interface Chance {
  /** From 0 (included) to 1 (excluded). */
  unit(): number
  /** A whole number from 0 to `n - 1`; 0 when there is none. */
  below(n: number): number
  /** True with that probability. */
  is(probability: number): boolean
  pick<A>(of: ReadonlyArray<A>): A
  /** One of the values, by weight. */
  weighted<A>(of: ReadonlyArray<readonly [weight: number, value: A]>): A
}

/** A random source that restarts for each list of numbers. */
export const makeChance = (...from: ReadonlyArray<number>): Chance => {
  let state = from.reduce((mixed, each) => scramble((mixed ^ each) + 0x9e3779b9), 0x2545f491)
  const unit = () => {
    state = (state + 0x6d2b79f5) | 0
    return (scramble(state) >>> 0) / 4_294_967_296
  }
  const below = (n: number) => Math.floor(unit() * Math.max(n, 1))
  return {
    unit,
    below,
    is: (probability) => unit() < probability,
    pick: <A>(of: ReadonlyArray<A>) => of[below(of.length)] as A,
    weighted: <A>(of: ReadonlyArray<readonly [number, A]>) => {
      let left = unit() * of.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, value] of of) {
        left -= weight
        if (left < 0) return value
      }
      return of.at(-1)?.[1] as A
    },
  }
}

/** The mixing step of MurmurHash3. */
const scramble = (value: number): number => {
  let mixed = value | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
