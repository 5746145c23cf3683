/** Shrinks a failing seed: fewer faults and fewer commands, while the same promise stays broken. */
import type { Outcome, SimulateOptions } from "./simulate.ts"

export interface Shrunk {
  /** The promise that stays broken. */
  readonly promise: string
  /** How many runs it took. */
  readonly runs: number
  /** The remaining faults and commands. */
  readonly faults: ReadonlyArray<string>
  readonly commands: ReadonlyArray<string>
  /** The smallest run, with its trace. */
  readonly outcome: Outcome
}

/** More runs than these are not worth a smaller trace. */
const maxRuns = 400

/** Removes as much of the list as possible while `fails`: halves first, then smaller parts. */
const smallest = <A>(
  all: ReadonlyArray<A>,
  fails: (some: ReadonlyArray<A>) => boolean,
): ReadonlyArray<A> => {
  let left = all
  if (fails([])) return []
  for (let parts = 2; left.length > 0;) {
    const size = Math.max(1, Math.ceil(left.length / parts))
    let isRemoved = false
    for (let at = 0; at < left.length; at += size) {
      const rest = [...left.slice(0, at), ...left.slice(at + size)]
      if (fails(rest)) {
        left = rest
        isRemoved = true
        break
      }
    }
    if (isRemoved) parts = Math.max(2, parts - 1)
    else if (size === 1) break
    else parts *= 2
  }
  return left
}

const brokenPromise = ({ violations }: Pick<Outcome, "violations">): string | undefined =>
  violations[0]?.split(":")[0]

/** Shrinks a seed that fails; null for one that does not. */
export const shrink = (
  simulate: (seed: string, options: SimulateOptions) => Outcome,
  seed: string,
  options: SimulateOptions = {},
): Shrunk | null => {
  const first = simulate(seed, options)
  const promise = brokenPromise(first)
  if (promise === undefined) return null
  let runs = 1
  const fails = (changed: SimulateOptions): boolean => {
    if (++runs > maxRuns) return false
    const { violations } = simulate(seed, { ...options, ...changed })
    return violations.some((each) => each.startsWith(`${promise}:`))
  }
  const indexes = first.commands.map((_, index) => index)
  let faults = smallest(first.faults, (some) => fails({ faults: new Set(some) }))
  const commands = smallest(indexes, (some) =>
    fails({ faults: new Set(faults), commands: new Set(some) }),
  )
  faults = smallest(faults, (some) => fails({ faults: new Set(some), commands: new Set(commands) }))
  const outcome = simulate(seed, {
    ...options,
    faults: new Set(faults),
    commands: new Set(commands),
    hasTrace: true,
  })
  return {
    promise,
    runs,
    faults,
    commands: commands.map((index) => first.commands[index] ?? ""),
    outcome,
  }
}

/** Lines of a shrunk trace that are worth reading. */
const maxTraceLines = 40

/** A shrunk failure in lines: the remaining input, its trace without store operations, and the verdict. */
export const explain = ({ commands, faults, outcome, runs }: Shrunk): ReadonlyArray<string> => [
  `shrunk in ${runs} runs to ${commands.length} commands and ${faults.length} faults`,
  ...faults.map((fault) => `fault ${fault}`),
  ...outcome.trace
    .filter((line) => !/ p\d+ (?!dies|stops|leaps|starts|hands)/.test(line))
    .slice(0, maxTraceLines)
    .map((line) => line.slice(0, 160)),
  ...outcome.violations.slice(0, 3),
]
