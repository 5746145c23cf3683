/** One row of the results: candidates measured in the same rounds, and the ratios required of them. */
import type { Effect, Scope } from "effect"
import type { Setup } from "../Setup.ts"
import type { CheckFailed } from "./checks.ts"

/** Whether more of it is better (a rate) or less (a time); of what is counted, the name says what. */
export type Unit = "per second" | "ms" | "µs" | "kB" | "counted"

export interface Candidate {
  readonly name: string
  /** Default: the row's unit. */
  readonly unit?: Unit
  /** One run: its figure, once what it left behind was checked. */
  readonly run: Effect.Effect<number, CheckFailed>
}

/** What a ratio or a figure must reach. */
export type Limit = { readonly atLeast: number } | { readonly atMost: number }

export interface RatioClaim {
  readonly name: string
  /** Names of the candidates: their figures are divided. */
  readonly numerator: string
  readonly denominator: string
  /** Null: shown for comparison, nothing is demanded. */
  readonly limit: Limit | null
}

export interface FigureClaim {
  readonly name: string
  readonly of: string
  readonly limit: Limit
}

export interface Comparison {
  readonly unit: Unit
  readonly candidates: ReadonlyArray<Candidate>
  readonly ratios: ReadonlyArray<RatioClaim>
  readonly figures?: ReadonlyArray<FigureClaim>
  /** What has to be known to read the figures. */
  readonly notes: ReadonlyArray<string>
}

export interface Row {
  readonly id: string
  readonly title: string
  /** Loads what the candidates need; it goes with the scope. */
  prepare(setup: Setup): Effect.Effect<Comparison, CheckFailed, Scope.Scope>
}
