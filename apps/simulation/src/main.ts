/**
 * Runs seeds and says what they cost and what they found.
 *
 *     pnpm simulate [--seeds N] [--from N] [--seed s] [--minutes M] [--processes N] [--long]
 *                   [--trace] [--shrink] [--coverage] [--planted [--only words]] [--night]
 */
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { Coverage } from "./Coverage.ts"
import { missingPoints, outOfReach } from "./expected.ts"
import { runPlanted } from "./planted/run.ts"
import { runInProcesses, runSeeds, getSummary } from "./run.ts"
import type { Report, RunOptions } from "./run.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    minutes: { type: "string" },
    processes: { type: "string" },
    // Arguments of the processes of one run: their part of the seeds.
    part: { type: "string" },
    prefix: { type: "string", default: "s" },
    long: { type: "boolean", default: false },
    calm: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
    only: { type: "string" },
    night: { type: "boolean", default: false },
    coverage: { type: "boolean", default: false },
    "stop-at-first": { type: "boolean", default: false },
    digests: { type: "boolean", default: false },
  },
})

/** A night's seeds on two cores, before the planted faults. */
const nightMinutes = 60
const nightProcesses = 2

/** From so many seeds on, starting processes costs less than it saves. */
const minSeedsPerProcess = 10

const print = (line: string): void => void process.stdout.write(`${line}\n`)

const minutes = values.minutes === undefined ? undefined : Number(values.minutes)

const seedCount = (): number => {
  if (values.seeds !== undefined) return Number(values.seeds)
  return minutes === undefined ? 100 : Infinity
}

/** Names of the seeds of one part of the run: every `parts`-th number. */
const seedNames = function* (part: number, parts: number): Generator<string> {
  if (values.seed !== undefined) {
    yield values.seed
    return
  }
  const first = Number(values.from)
  const end = first + seedCount()
  for (let seed = first + part; seed < end; seed += parts) yield `${values.prefix}${seed}`
}

const toOptions = (part: number, parts: number): RunOptions => ({
  seeds: seedNames(part, parts),
  limitMillis: minutes === undefined ? Infinity : minutes * 60_000,
  isLong: values.long,
  isCalm: values.calm,
  shrinks: values.shrink,
  stopsAtFirst: values["stop-at-first"],
  printsTrace: values.trace,
  printsDigests: values.digests,
})

const printCoverage = ({ hits }: Report): void => {
  const coverage = new Coverage()
  coverage.add(hits)
  for (const [point, count] of coverage.hits) print(`  ${String(count).padStart(8)} ${point}`)
  for (const point of missingPoints(coverage)) print(`         0 ${point}`)
  for (const [point, reason] of outOfReach) print(`         - ${point}: ${reason}`)
}

/** Prints the result of a run; returns whether every promise was kept. */
const conclude = (report: Report, printsCoverage: boolean): boolean => {
  print(getSummary(report))
  if (printsCoverage) printCoverage(report)
  return report.totals.failed === 0
}

/** Traces, and the first failing seed, come from one process. */
const isOfOneProcess =
  values.seed !== undefined || values.trace || values.digests || values["stop-at-first"]

const processesWanted = (): number => {
  if (values.processes !== undefined) return Number(values.processes)
  if (isOfOneProcess) return 1
  return Math.max(1, Math.min(availableParallelism(), Math.floor(seedCount() / minSeedsPerProcess)))
}

const plantedOptions = {
  only: values.only,
  seeds: values.seeds === undefined ? undefined : Number(values.seeds),
}

const run = async (): Promise<boolean> => {
  if (values.planted) return runPlanted({ ...plantedOptions, processes: availableParallelism() })
  if (values.part !== undefined) {
    const [part = 0, parts = 1] = values.part.split("/").map(Number)
    const report = runSeeds(toOptions(part, parts), print)
    process.send?.(report)
    return report.totals.failed === 0
  }
  if (values.night) {
    // Each night has its own seeds, and `--seed` repeats one.
    const prefix = `${new Date().toISOString().slice(0, 10)}/`
    const args = ["--minutes", String(minutes ?? nightMinutes), "--prefix", prefix, "--shrink"]
    const processes = Number(values.processes ?? nightProcesses)
    const isStored = conclude(await runInProcesses(import.meta.filename, args, processes), true)
    return (await runPlanted({ ...plantedOptions, processes })) && isStored
  }
  const processes = processesWanted()
  const report =
    processes === 1
      ? runSeeds(toOptions(0, 1), print)
      : await runInProcesses(import.meta.filename, process.argv.slice(2), processes)
  return conclude(report, values.coverage)
}

process.exitCode = (await run()) ? 0 : 1
