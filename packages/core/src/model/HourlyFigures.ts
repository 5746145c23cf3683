/**
 * What happened in a workspace, counted by hour: the figures of the dashboard and of `GET …/figures`.
 *
 * Nothing is counted on the way of a message. Messages, events and delivery attempts are rows with growing
 * positions; a worker reads on from the place that it has reached, adds what it finds to the
 * rows of their hours, and moves the place on in the same commit. So each is counted once, however
 * many workers count. What lies behind the place is added when figures are read.
 */
import type { Effect } from "effect"
import type { StoreUnavailable } from "./Refusal.ts"
import type { WorkspaceId } from "./Ids.ts"
import type { Mode } from "./Workspace.ts"

const hourMillis = 3_600_000

/** How long the rows of hours stay. */
export const figuresRetentionMillis = 90 * 24 * hourMillis

/** Rows that are read by position, each kind with a place of its own. */
export const figureStreams = ["messages", "events", "attempts"] as const

export type FigureStream = (typeof figureStreams)[number]

/**
 * What is counted: an acceptance, the end of a message (as its event tells), or an attempt to tell a
 * webhook endpoint. Refused messages and callbacks are none of them.
 */
export type FigureKind =
  | "accepted"
  | "sent"
  | "failed"
  | "expired"
  | "cancelled"
  | "delivered"
  | "not_delivered"

export interface FigureEntry {
  readonly position: number
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** When it happened, in epoch milliseconds. */
  readonly at: number
  readonly kind: FigureKind
  /** Of an event: when its message was due. Null when the message is erased. */
  readonly dueAt: number | null
  /** Of a failed message. Null when the message is erased. */
  readonly errorCode: string | null
}

/** Sums of an hour, or of several. */
export interface FigureCounts {
  readonly accepted: number
  readonly sent: number
  readonly failed: number
  readonly expired: number
  readonly cancelled: number
  /** Attempts to deliver an event to a webhook endpoint, and how many of them failed. */
  readonly deliveries: number
  readonly deliveriesFailed: number
  /** Failed messages by error code. */
  readonly failures: Readonly<Record<string, number>>
  /** Sent messages by how long they were due before: one count for each of `waitSteps`, or none. */
  readonly waits: ReadonlyArray<number>
}

export interface HourlyFigures extends FigureCounts {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** Where the hour begins, in epoch milliseconds. */
  readonly hour: number
}

/**
 * Upper ends of the steps of waits, in milliseconds: from 1 ms to 1 day. The last one holds longer
 * waits too.
 */
export const waitSteps: ReadonlyArray<number> = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000, 3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000,
]

/** The place of a wait in `waitSteps`; one below zero (a clock was set back) is in the first. */
const waitStep = (waitMillis: number): number => {
  const step = waitSteps.findIndex((end) => waitMillis <= end)
  return step === -1 ? waitSteps.length - 1 : step
}

/**
 * The end of the step in which that part (0 to 1) of the waits is over: so many waited no longer.
 * Null without waits.
 */
export const waitWithin = (waits: ReadonlyArray<number>, part: number): number | null => {
  const total = waits.reduce((sum, count) => sum + count, 0)
  let left = total * part
  for (const [step, count] of waits.entries()) {
    left -= count
    if (count > 0 && left <= 0) return waitSteps[step] ?? null
  }
  return null
}

export const startOfHour = (at: number): number => Math.floor(at / hourMillis) * hourMillis

export const noFigures: FigureCounts = {
  accepted: 0,
  sent: 0,
  failed: 0,
  expired: 0,
  cancelled: 0,
  deliveries: 0,
  deliveriesFailed: 0,
  failures: {},
  waits: [],
}

/** The sums of both. */
export const addedFigures = (a: FigureCounts, b: FigureCounts): FigureCounts => {
  const failures = { ...a.failures }
  for (const [code, count] of Object.entries(b.failures)) {
    failures[code] = (failures[code] ?? 0) + count
  }
  return {
    accepted: a.accepted + b.accepted,
    sent: a.sent + b.sent,
    failed: a.failed + b.failed,
    expired: a.expired + b.expired,
    cancelled: a.cancelled + b.cancelled,
    deliveries: a.deliveries + b.deliveries,
    deliveriesFailed: a.deliveriesFailed + b.deliveriesFailed,
    failures,
    waits: Array.from(
      { length: Math.max(a.waits.length, b.waits.length) },
      (_, step) => (a.waits[step] ?? 0) + (b.waits[step] ?? 0),
    ),
  }
}

type Summed = Exclude<keyof FigureCounts, "failures" | "waits">

/** What an entry adds one to. */
const counters: Readonly<Record<FigureKind, ReadonlyArray<Summed>>> = {
  accepted: ["accepted"],
  sent: ["sent"],
  failed: ["failed"],
  expired: ["expired"],
  cancelled: ["cancelled"],
  delivered: ["deliveries"],
  not_delivered: ["deliveries", "deliveriesFailed"],
}

interface Tally extends Record<Summed, number> {
  workspaceId: WorkspaceId
  mode: Mode
  hour: number
  failures: Record<string, number>
  waits: Array<number>
}

const emptyTally = ({ at, mode, workspaceId }: FigureEntry): Tally => ({
  ...noFigures,
  workspaceId,
  mode,
  hour: startOfHour(at),
  failures: {},
  waits: [],
})

const countEntry = (tally: Tally, { at, dueAt, errorCode, kind }: FigureEntry): void => {
  for (const counter of counters[kind]) tally[counter]++
  if (kind === "failed" && errorCode !== null) {
    tally.failures[errorCode] = (tally.failures[errorCode] ?? 0) + 1
  }
  if (kind !== "sent" || dueAt === null) return
  if (tally.waits.length === 0) tally.waits = waitSteps.map(() => 0)
  const step = waitStep(at - dueAt)
  tally.waits[step] = (tally.waits[step] ?? 0) + 1
}

/** The entries by workspace, mode and hour, in that order. */
export const tallyFigures = (entries: ReadonlyArray<FigureEntry>): ReadonlyArray<HourlyFigures> => {
  const tallies = new Map<string, Tally>()
  for (const entry of entries) {
    const key = `${entry.workspaceId} ${entry.mode} ${startOfHour(entry.at)}`
    const tally = tallies.get(key) ?? emptyTally(entry)
    tallies.set(key, tally)
    countEntry(tally, entry)
  }
  return [...tallies.values()].toSorted(
    (a, b) => a.workspaceId - b.workspaceId || (a.mode < b.mode ? -1 : 1) || a.hour - b.hour,
  )
}

// Spans of time

export const figureRanges = ["24h", "7d", "30d"] as const

export type FigureRange = (typeof figureRanges)[number]

const spans: Readonly<Record<FigureRange, { readonly buckets: number; readonly hours: number }>> = {
  "24h": { buckets: 24, hours: 1 },
  "7d": { buckets: 28, hours: 6 },
  "30d": { buckets: 30, hours: 24 },
}

/** A span of time in buckets of the same length, all on whole hours in UTC. Epoch milliseconds. */
export interface FigureSpan {
  /** Where the span before begins. */
  readonly before: number
  readonly from: number
  /** The end of the present hour. */
  readonly until: number
  readonly bucketMillis: number
}

export const figureSpan = (range: FigureRange, now: number): FigureSpan => {
  const { buckets, hours } = spans[range]
  const bucketMillis = hours * hourMillis
  const until = startOfHour(now) + hourMillis
  const from = until - buckets * bucketMillis
  return { before: from - buckets * bucketMillis, from, until, bucketMillis }
}

export interface FigureBucket extends FigureCounts {
  /** Where it begins. */
  readonly at: number
}

/** The sums of each bucket, oldest first, and of the span before. */
export const figureBuckets = (
  hours: ReadonlyArray<HourlyFigures>,
  { before: start, bucketMillis, from, until }: FigureSpan,
): { readonly before: FigureCounts; readonly buckets: ReadonlyArray<FigureBucket> } => {
  const count = (until - from) / bucketMillis
  const sums = Array.from({ length: count }, () => noFigures)
  let before = noFigures
  for (const one of hours) {
    if (one.hour < start || one.hour >= until) continue
    if (one.hour < from) {
      before = addedFigures(before, one)
      continue
    }
    const index = Math.floor((one.hour - from) / bucketMillis)
    sums[index] = addedFigures(sums[index] ?? noFigures, one)
  }
  return {
    before,
    buckets: sums.map((sum, index) => ({ ...sum, at: from + index * bucketMillis })),
  }
}

// The port

/** The place that counting has reached in each stream: what lies behind it is not counted yet. */
export type FigurePositions = Readonly<Record<FigureStream, number>>

export interface FigureQuery {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
}

export interface FigureStore {
  /**
   * What lies behind the place of that stream, oldest first, and how far that reaches: `to` is
   * `from` when nothing does. Nothing that was written before is ever added up to `to` later: the
   * read stops before a position that an open transaction may still fill.
   */
  readUncounted(
    stream: FigureStream,
    limit: number,
  ): Effect.Effect<
    { readonly from: number; readonly to: number; readonly entries: ReadonlyArray<FigureEntry> },
    StoreUnavailable
  >
  /**
   * Adds to the rows of hours, but for deleted workspaces, and moves the place on. Guard: the place
   * is `from`; false when another worker has counted meanwhile, and then nothing is written.
   */
  count(
    stream: FigureStream,
    range: { readonly from: number; readonly to: number },
    hours: ReadonlyArray<HourlyFigures>,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** The counted hours that begin in that span, oldest first, and the places, in one snapshot. */
  hours(
    query: FigureQuery & { readonly from: number; readonly until: number },
  ): Effect.Effect<
    { readonly hours: ReadonlyArray<HourlyFigures>; readonly places: FigurePositions },
    StoreUnavailable
  >
  /** Of one workspace and mode: what that stream has after a position, oldest first. */
  entriesAfter(
    stream: FigureStream,
    query: FigureQuery & { readonly after: number; readonly limit: number },
  ): Effect.Effect<ReadonlyArray<FigureEntry>, StoreUnavailable>
  /** What is there at `now`, in one snapshot. */
  presentFigures(
    query: FigureQuery & { readonly now: number; readonly countAtMost: number },
  ): Effect.Effect<PresentFigures, StoreUnavailable>
  /** Deletes rows of hours before `before`. */
  forgetFigures(before: number): Effect.Effect<void, StoreUnavailable>
}

export interface PresentFigures {
  /** Waiting messages with status `queued` (`statusAt`), up to about `countAtMost`. */
  readonly queued: number
  /** The others, up to `countAtMost`. */
  readonly scheduled: number
  /** When the first queued message fell due; null when none is. Held ones are not due. */
  readonly oldestDueAt: number | null
  /** What the workspace's files take, of both modes. */
  readonly usedBytes: number
}
