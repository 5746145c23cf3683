/** Counts and faults of a run; each fault appears once, with the request that repeats it. */
import type { Finding } from "./oracle/Finding.ts"
import type { Shot } from "./request/Shot.ts"
import type { Outcome } from "./wire/Connection.ts"
import type { Usage } from "./oracle/usage.ts"

export interface Failure extends Finding {
  /** How often it was found. */
  times: number
  /** The command line that repeats the first of them. */
  readonly repeat: string
  /** That request. */
  readonly about: string
}

export interface Report {
  requests: number
  /** Answers by their status; 0 for none. */
  readonly statuses: Map<number, number>
  /** By operation: requests and successes. */
  readonly operations: Map<string, { requests: number; done: number }>
  readonly failures: Map<string, Failure>
  /** Events and callbacks that the service has sent to the fuzzer. */
  calls: number
  /** Cells with counted messages, and those with an uncertain count. */
  census: { taken: number; left: number }
}

export const emptyReport = (): Report => ({
  requests: 0,
  statuses: new Map(),
  operations: new Map(),
  failures: new Map(),
  calls: 0,
  census: { taken: 0, left: 0 },
})

export const countAnswer = (report: Report, shot: Shot, outcome: Outcome | undefined): void => {
  const status = outcome?.kind === "answer" ? outcome.answer.status : 0
  report.requests++
  report.statuses.set(status, (report.statuses.get(status) ?? 0) + 1)
  const counted = report.operations.get(shot.aim.id) ?? { requests: 0, done: 0 }
  counted.requests++
  if (status >= 200 && status < 300) counted.done++
  report.operations.set(shot.aim.id, counted)
}

/** Counts a finding; true when it is the first of its kind. */
export const addFinding = (
  report: Report,
  { detail, kind }: Finding,
  repeat: string,
  about: string,
): boolean => {
  const known = report.failures.get(kind)
  if (known !== undefined) {
    known.times++
    return false
  }
  report.failures.set(kind, { kind, detail, repeat, about, times: 1 })
  return true
}

const percent = (part: number, whole: number): string =>
  `${((100 * part) / Math.max(whole, 1)).toFixed(1)} %`

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`

export const failureText = ({ about, detail, kind, repeat, times }: Failure): string =>
  [
    `${kind} (${times} times)`,
    `  ${about}`,
    ...(detail === "" ? [] : [`  ${detail}`]),
    `  ${repeat}`,
  ].join("\n")

/** The whole report, for people. */
export const reportText = (report: Report, usage: Usage | null, seconds: number): string => {
  const { census, failures, operations, requests, statuses } = report
  const done = [...statuses].reduce(
    (sum, [status, n]) => sum + (status >= 200 && status < 300 ? n : 0),
    0,
  )
  const byStatus = [...statuses].toSorted(([a], [b]) => a - b)
  const never = [...operations].filter(([, { done: times }]) => times === 0).map(([id]) => id)
  return [
    `${requests} requests in ${seconds.toFixed(0)} s, ${(requests / seconds).toFixed(0)} a second; ${percent(done, requests)} reached a 2xx`,
    `answers: ${byStatus.map(([status, n]) => `${status === 0 ? "none" : status} ${n}`).join(", ")}`,
    `operations: ${operations.size} asked for${never.length === 0 ? ", all with a success" : `; never with a success: ${never.join(", ")}`}`,
    `calls received: ${report.calls}`,
    `counts of messages: ${census.taken} cells, ${census.left} left out`,
    ...(usage === null
      ? []
      : [
          `memory: ${mebibytes(usage.first.memory)} after the first cells, ${mebibytes(usage.last.memory)} at the end, ${mebibytes(usage.peak)} at most`,
          `descriptors: ${usage.first.descriptors} after the first cells, ${usage.last.descriptors} at the end`,
          `files: ${usage.last.files} kept, ${usage.last.temporary} temporary`,
        ]),
    `distinct failures: ${failures.size}`,
    ...[...failures.values()].map(failureText),
  ].join("\n")
}
