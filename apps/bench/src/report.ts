/** What a run of the benchmarks says: as text for people, as JSON for programs. */
import { cpus, totalmem } from "node:os"
import type { Limit } from "./measuring/Comparison.ts"
import type { Measured } from "./measuring/rounds.ts"

export interface MeasuredRow extends Measured {
  readonly id: string
  readonly title: string
  /** Processes that wanted a processor when the row ended, on average of its last minute. */
  readonly machineLoad: number
}

export interface Report {
  readonly smoke: boolean
  /** Rounds that count, of each row. */
  readonly rounds: number
  readonly node: string
  readonly postgres: string
  /** Null where pgbench is missing and node-postgres took its place. */
  readonly pgbench: string | null
  readonly processors: string
  readonly memoryBytes: number
  readonly settings: Readonly<Record<string, string>>
  readonly rows: ReadonlyArray<MeasuredRow>
}

export const machine = () => {
  const all = cpus()
  return { processors: `${all.length} × ${all[0]?.model ?? "unknown"}`, memoryBytes: totalmem() }
}

const amount = (value: number): string =>
  value >= 100
    ? Math.round(value).toLocaleString("en")
    : value.toLocaleString("en", { maximumFractionDigits: 2, minimumFractionDigits: 2 })

const limitText = (limit: Limit): string =>
  "atLeast" in limit
    ? `at least ${limit.atLeast.toLocaleString("en")}`
    : `at most ${limit.atMost.toLocaleString("en")}`

const verdict = (isMet: boolean | null): string =>
  isMet === null ? "     " : isMet ? "holds" : "SHORT"

/** The head of the text: the machine and the settings that the figures hang on. */
export const headText = (report: Omit<Report, "rows">): string =>
  [
    `PostgreSQL ${report.postgres}, Node ${report.node}, ${report.processors}`,
    `Settings: ${Object.entries(report.settings)
      .map(([name, value]) => `${name}=${value}`)
      .join(", ")}`,
    report.pgbench === null
      ? "pgbench is not installed: node-postgres runs the same SQL in its place, which costs more"
      : `SQL under load: ${report.pgbench}`,
    `${report.rounds} rounds count, after one that does not${report.smoke ? "; SMOKE: the figures mean nothing" : ""}`,
    "",
  ].join("\n")

export const rowText = (row: MeasuredRow): string => {
  const ratios = row.ratios.map(
    ({ highest, holds, limit, lowest, name, ratio }) =>
      `  ${verdict(holds)}  ${ratio.toFixed(2).padStart(6)}  (${lowest.toFixed(2)} to ${highest.toFixed(2)})` +
      `  ${name}${limit === null ? "" : `: ${limitText(limit)}`}`,
  )
  const figures = row.figures.map(
    ({ figure, holds, limit, name, unit }) =>
      `  ${verdict(holds)}  ${amount(figure)} ${unit}  ${name}: ${limitText(limit)}`,
  )
  const candidates = row.candidates.map(
    ({ median, name, unit }) => `         ${amount(median).padStart(10)} ${unit}  ${name}`,
  )
  return [
    `${row.id}: ${row.title}`,
    ...ratios,
    ...figures,
    ...candidates,
    ...row.notes.map((note) => `         · ${note}`),
    `         ${row.checks} runs, each result checked; load of the machine ${row.machineLoad.toFixed(1)}`,
    "",
  ].join("\n")
}
