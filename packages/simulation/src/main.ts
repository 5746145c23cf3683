/**
 * Runs seeds and says what they cost and what they found.
 *
 *     pnpm simulate [--seeds N] [--from N] [--seed s] [--minutes M] [--long] [--trace] [--shrink] [--planted [name]]
 */
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { Coverage } from "./Coverage.ts"
import { missingPoints } from "./expected.ts"
import { runPlanted } from "./planted/run.ts"
import { shrink } from "./shrink.ts"
import { simulate } from "./simulate.ts"
import type { Outcome } from "./simulate.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    minutes: { type: "string" },
    long: { type: "boolean", default: false },
    calm: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
    only: { type: "string" },
    coverage: { type: "boolean", default: false },
    "stop-at-first": { type: "boolean", default: false },
    digests: { type: "boolean", default: false },
  },
})

/** Lines of a shrunk trace that are printed. */
const maxTraceLines = 40

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** A failing seed, as small as it gets. */
const explain = (outcome: Outcome): void => {
  const small = shrink(simulate, outcome.seed, { isLong: values.long })
  if (small === null) return
  say(
    `shrunk in ${small.runs} runs to ${small.commands.length} of ${outcome.commands.length} commands and ${small.faults.length} of ${outcome.faults.length} faults`,
  )
  for (const fault of small.faults) say(`  fault ${fault}`)
  const { trace, violations } = small.outcome
  const lines = trace.filter((line) => !/ p\d+ (?!dies|stops|leaps|starts|hands)/.test(line))
  for (const line of lines.slice(0, maxTraceLines)) say(`  ${line.slice(0, 160)}`)
  for (const violation of violations.slice(0, 3)) say(`  ${violation}`)
}

const seedNames = function* (): Generator<string> {
  if (values.seed !== undefined) {
    yield values.seed
    return
  }
  const first = Number(values.from)
  const count =
    values.seeds === undefined
      ? values.minutes === undefined
        ? 100
        : Infinity
      : Number(values.seeds)
  for (let seed = first; seed < first + count; seed++) yield `s${seed}`
}

/** Runs seeds in this process; returns whether every promise was kept. */
const runSeeds = (): boolean => {
  const began = performance.now()
  const cpu = cpuSeconds()
  const limitMillis = values.minutes === undefined ? Infinity : Number(values.minutes) * 60_000
  const coverage = new Coverage()
  const totals = { seeds: 0, failed: 0, messages: 0, steps: 0, faults: 0, kills: 0, simulated: 0 }
  for (const seed of seedNames()) {
    if (performance.now() - began > limitMillis) break
    const outcome = simulate(seed, {
      isLong: values.long,
      isCalm: values.calm,
      keepsTrace: values.trace,
    })
    totals.seeds++
    totals.messages += outcome.history.final.messages.length
    totals.steps += outcome.steps
    totals.faults += outcome.faults.length
    totals.kills += outcome.faultCounts["kill"] ?? 0
    totals.simulated += outcome.simulatedMillis
    coverage.add(outcome.coverage.hits)
    if (values.digests) say(`${seed} ${outcome.digest}`)
    if (values.trace) for (const line of outcome.trace) say(line)
    if (outcome.violations.length === 0) continue
    totals.failed++
    say(`${seed} ${outcome.digest}`)
    for (const violation of outcome.violations.slice(0, 5)) say(`  ${violation}`)
    if (values.shrink) explain(outcome)
    if (values["stop-at-first"]) break
  }
  const spent = cpuSeconds() - cpu
  say(
    `${totals.seeds} seeds, ${totals.failed} failed: ${totals.messages} messages, ${totals.faults} faults, ${totals.kills} kills, ${totals.steps} steps, ${(totals.simulated / 86_400_000).toFixed(1)} days in ${spent.toFixed(1)} s of processor time`,
  )
  if (values.coverage) {
    for (const [point, count] of coverage.hits) say(`  ${String(count).padStart(8)} ${point}`)
    for (const point of missingPoints(coverage)) say(`         0 ${point}`)
  }
  return totals.failed === 0
}

process.exitCode = (
  values.planted ? await runPlanted(values.only, availableParallelism()) : runSeeds()
)
  ? 0
  : 1
