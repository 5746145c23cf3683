/** Runs many seeds, in this process or several, and sums up their coverage. */
import { fork } from "node:child_process"
import { Coverage } from "./Coverage.ts"
import { explain, shrink } from "./shrink.ts"
import { simulate } from "./simulate.ts"

export interface RunOptions {
  readonly seeds: Iterable<string>
  /** No seed begins later, in milliseconds after the first one. */
  readonly limitMillis: number
  readonly isLong: boolean
  readonly isCalm: boolean
  readonly shrinks: boolean
  readonly stopsAtFirst: boolean
  readonly printsTrace: boolean
  readonly printsDigests: boolean
}

const counted = [
  "seeds",
  "failed",
  "messages",
  "steps",
  "faults",
  "kills",
  "millis",
  "cpu",
] as const

type Totals = Record<(typeof counted)[number], number>

/** The result of a run. */
export interface Report {
  readonly totals: Totals
  /** Reached points, with counts. */
  readonly hits: ReadonlyArray<readonly [string, number]>
}

const zero = (): Totals => ({
  seeds: 0,
  failed: 0,
  messages: 0,
  steps: 0,
  faults: 0,
  kills: 0,
  millis: 0,
  cpu: 0,
})

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

/** Runs the seeds in this process, and reports failing ones at once. */
export const runSeeds = (options: RunOptions, print: (line: string) => void): Report => {
  const began = performance.now()
  const cpu = cpuSeconds()
  const { isCalm, isLong } = options
  const coverage = new Coverage()
  const totals = zero()
  for (const seed of options.seeds) {
    if (performance.now() - began > options.limitMillis) break
    const outcome = simulate(seed, { isLong, isCalm, hasTrace: options.printsTrace })
    totals.seeds++
    totals.messages += outcome.history.final.messages.length
    totals.steps += outcome.steps
    totals.faults += outcome.faults.length
    totals.kills += outcome.faultCounts["kill"] ?? 0
    totals.millis += outcome.simulatedMillis
    coverage.add(outcome.coverage.hits)
    if (options.printsDigests) print(`${seed} ${outcome.digest}`)
    if (options.printsTrace) for (const line of outcome.trace) print(line)
    if (outcome.violations.length === 0) continue
    totals.failed++
    print(`${seed} ${outcome.digest}`)
    for (const violation of outcome.violations.slice(0, 5)) print(`  ${violation}`)
    const small = options.shrinks ? shrink(simulate, seed, { isLong, isCalm }) : null
    if (small !== null) for (const line of explain(small)) print(`  ${line}`)
    if (options.stopsAtFirst) break
  }
  totals.cpu = cpuSeconds() - cpu
  return { totals, hits: coverage.hits }
}

/** Adds up reports. */
const mergeReports = (reports: ReadonlyArray<Report>): Report => {
  const totals = zero()
  const coverage = new Coverage()
  for (const report of reports) {
    for (const name of counted) totals[name] += report.totals[name]
    coverage.add(report.hits)
  }
  return { totals, hits: coverage.hits }
}

/** Runs the program once more with these arguments; null where it ended without a report. */
const runPart = (main: string, args: ReadonlyArray<string>): Promise<Report | null> =>
  new Promise((resolve) => {
    const child = fork(main, args)
    let report: Report | null = null
    child.on("message", (sent) => {
      report = sent as Report
    })
    child.on("close", () => resolve(report))
  })

/**
 * Distributes the seeds to several processes. Each runs the program with the same arguments and its
 * own part, and prints as it goes.
 */
export const runInProcesses = async (
  main: string,
  args: ReadonlyArray<string>,
  processes: number,
): Promise<Report> => {
  const parts = Array.from({ length: processes }, (_, index) =>
    runPart(main, [...args, "--part", `${index}/${processes}`]),
  )
  const reports = await Promise.all(parts)
  const whole = reports.filter((report) => report !== null)
  // A part that was interrupted may have missed its faults.
  if (whole.length < reports.length) throw new Error("a process ended before its seeds")
  return mergeReports(whole)
}

/** A run in one line. */
export const getSummary = ({ totals }: Report): string => {
  const { cpu, failed, faults, kills, messages, millis, seeds, steps } = totals
  const days = (millis / 86_400_000).toFixed(1)
  return `${seeds} seeds, ${failed} failed: ${messages} messages, ${faults} faults, ${kills} kills, ${steps} steps, ${days} days in ${cpu.toFixed(1)} s of processor time`
}
