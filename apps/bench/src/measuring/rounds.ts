/**
 * Rounds: in each of them every candidate runs once, in an order that moves on by one from round to
 * round, so that what disturbs the machine disturbs all of them. A round in front warms up and does
 * not count, where figures are looked at. Ratios are taken inside a round, where candidates met the same machine.
 */
import { Effect } from "effect"
import type { CheckFailed } from "./checks.ts"
import type { Comparison, Limit, RatioClaim, FigureClaim, Unit } from "./Comparison.ts"

export interface MeasuredRatio extends RatioClaim {
  /** The median of the ratios of the rounds. */
  readonly ratio: number
  readonly lowest: number
  readonly highest: number
  /** Null when nothing is demanded. */
  readonly holds: boolean | null
}

export interface MeasuredFigure extends FigureClaim {
  readonly unit: Unit
  readonly figure: number
  readonly holds: boolean
}

export interface Measured {
  /** Runs with a checked result, those that warmed up included. */
  readonly checks: number
  readonly candidates: ReadonlyArray<{
    readonly name: string
    readonly unit: Unit
    readonly median: number
    /** One figure for each round that counts. */
    readonly rounds: ReadonlyArray<number>
  }>
  readonly ratios: ReadonlyArray<MeasuredRatio>
  readonly figures: ReadonlyArray<MeasuredFigure>
  readonly notes: ReadonlyArray<string>
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return Number.isInteger(middle)
    ? ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
    : (sorted[Math.floor(middle)] ?? Number.NaN)
}

const rotated = <A>(values: ReadonlyArray<A>, by: number): ReadonlyArray<A> => {
  const first = values.length === 0 ? 0 : by % values.length
  return [...values.slice(first), ...values.slice(0, first)]
}

const isWithin = (value: number, limit: Limit): boolean =>
  "atLeast" in limit ? value >= limit.atLeast : value <= limit.atMost

/**
 * Several figures of one run: of the candidates made with the same of these, the first of a round
 * runs, and the others take what that run told.
 */
export const toFigures = <Figures>(run: Effect.Effect<Figures, CheckFailed>) => {
  const received: Array<Figures> = []
  return (figure: (figures: Figures) => number): Effect.Effect<number, CheckFailed> => {
    let round = 0
    return Effect.gen(function* () {
      const known = received[round]
      const figures = known ?? (yield* run)
      if (known === undefined) received.push(figures)
      round++
      return figure(figures)
    })
  }
}

/** Runs the rounds that count, behind one that warms up. */
export const measure = (
  comparison: Comparison,
  rounds: number,
  warmsUp = true,
): Effect.Effect<Measured, CheckFailed> =>
  Effect.gen(function* () {
    const figures = new Map(comparison.candidates.map(({ name }) => [name, new Array<number>()]))
    let checks = 0
    for (let round = warmsUp ? 0 : 1; round <= rounds; round++) {
      for (const { name, run } of rotated(comparison.candidates, round)) {
        const figure = yield* run
        checks++
        if (round > 0) figures.get(name)?.push(figure)
      }
    }
    const of = (name: string) => figures.get(name) ?? []
    const units = new Map(
      comparison.candidates.map(({ name, unit }) => [name, unit ?? comparison.unit]),
    )
    const toUnit = (name: string) => units.get(name) ?? comparison.unit
    return {
      checks,
      candidates: comparison.candidates.map(({ name }) => ({
        name,
        unit: toUnit(name),
        median: median(of(name)),
        rounds: of(name),
      })),
      ratios: comparison.ratios.map((claim) => {
        const below = of(claim.denominator)
        const each = of(claim.numerator).map(
          (figure, round) => figure / (below[round] ?? Number.NaN),
        )
        const ratio = median(each)
        return {
          ...claim,
          ratio,
          lowest: Math.min(...each),
          highest: Math.max(...each),
          holds: claim.limit === null ? null : isWithin(ratio, claim.limit),
        }
      }),
      figures: (comparison.figures ?? []).map((claim) => {
        const figure = median(of(claim.of))
        return { ...claim, unit: toUnit(claim.of), figure, holds: isWithin(figure, claim.limit) }
      }),
      notes: comparison.notes,
    }
  })
