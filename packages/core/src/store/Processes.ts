/** The processes that work on a store, each as it reports itself (contract: Figures). */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"

export const processKinds = ["server", "worker", "embedded"] as const

export type ProcessKind = (typeof processKinds)[number]

/** A process that works on the store, as it last reported itself. */
export interface ProcessReport {
  readonly name: string
  readonly kind: ProcessKind
  /** Whether it runs the worker: sends messages, calls webhooks. */
  readonly works: boolean
  readonly seenAt: number
  /** Live numbers that it keeps connected; null where numbers are not shared out. */
  readonly numbersHeld: number | null
  readonly shardsHeld: number | null
}

export interface ProcessStore {
  /** Replaces the process's report. */
  reportProcess(report: ProcessReport): Effect.Effect<void, StoreUnavailable>
  /** By name, at most so many: those that were seen last. */
  processes(max: number): Effect.Effect<ReadonlyArray<ProcessReport>, StoreUnavailable>
  /** Deletes the report of a process that stops. */
  endProcess(name: string): Effect.Effect<void, StoreUnavailable>
  /** Deletes the reports of processes that were not seen since `before`. */
  forgetProcesses(before: number): Effect.Effect<void, StoreUnavailable>
}

/** How often a process reports itself. */
export const processReportMillis = 15_000

/** Two reports missed, and some time to spare. */
const processSilentMillis = 35_000

/** Whether a process that was last seen then has died or cannot reach the store. */
export const isProcessSilent = (seenAt: number, now: number): boolean =>
  seenAt <= now - processSilentMillis

/** How long a process that stopped without a word is shown. */
export const processesRetentionMillis = 24 * 3_600_000
