/**
 * Metrics: counters of this process, and the port that reads the whole service's figures. Each
 * labelled counter is created once, so that counting neither looks up nor allocates.
 */
import { Cause, Clock, Effect, Exit, Metric, Option } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberId } from "../model/Ids.ts"
import type { ReceivedOutcome } from "../model/Incoming.ts"
import { receivedFileStates } from "../model/ReceivedFile.ts"
import type { ReceivedFileState } from "../model/ReceivedFile.ts"
import type { MessageChange } from "../model/MessageChange.ts"
import type { Message } from "../model/Message.ts"
import type { Acceptance } from "../model/accept.ts"
import { platforms } from "../model/SendingNumber.ts"
import type { NumberStatus, Platform } from "../model/SendingNumber.ts"
import { storeRisks } from "./SystemStore.ts"
import type { StoreRisk } from "./SystemStore.ts"
import { deliveryErrors } from "../model/WebhookEndpoint.ts"
import type { DeliveryResult, TargetKind } from "./WebhookStore.ts"
import type { Mode } from "../model/Workspace.ts"

/** One counter for each combination of labels. */
const counter = (name: string, description: string, attributes: Record<string, string>) =>
  Metric.counter(name, { description, attributes, incremental: true })

/** A value for each of these names, created once. */
const byName = <Name extends string, A>(names: ReadonlyArray<Name>, make: (name: Name) => A) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Readonly<Record<Name, A>>

const modes: ReadonlyArray<Mode> = ["live", "test"]

const accepted = byName(modes, (mode) =>
  counter("messaging_messages_accepted_total", "Messages that this process accepted.", { mode }),
)

/** Final states of waiting messages. */
const endings = ["sent", "failed", "cancelled", "expired"] as const

const isEnding = (state: Message["state"]): state is (typeof endings)[number] =>
  (endings as ReadonlyArray<string>).includes(state)

const ended = byName(modes, (mode) =>
  byName(endings, (status) =>
    counter(
      "messaging_messages_ended_total",
      "Messages whose waiting this process ended, by what became of them.",
      { mode, status },
    ),
  ),
)

/** Counters of calls to customers' addresses, by outcome. */
const callsBy = (name: string, description: string) =>
  byName(["delivered", ...deliveryErrors], (outcome) => counter(name, description, { outcome }))

const attempts: Readonly<Record<TargetKind, ReturnType<typeof callsBy>>> = {
  webhook: callsBy(
    "messaging_webhook_attempts_total",
    "Attempts of this process to deliver an event to a webhook endpoint, by their outcome.",
  ),
  callback: callsBy(
    "messaging_callback_attempts_total",
    "Attempts of this process to make a callback of version 1, by their outcome.",
  ),
}

const rowsTaken = counter(
  "messaging_campaign_rows_taken_total",
  "Rows of campaigns that this process made messages of.",
  {},
)

/** Shards that this worker gained or gave up. */
const moves = byName(["taken", "given", "lost"], (direction) =>
  counter(
    "messaging_shard_moves_total",
    "Shards of live numbers that this worker took, gave to another, or lost since the store confirmed them no more.",
    { direction },
  ),
)

const libraryFaults = byName(platforms, (platform) =>
  counter(
    "messaging_library_faults_total",
    "Errors of a transport's library that no caller received; each closed its connection, or ended its upload.",
    { platform },
  ),
)

const ownedNumbers = Metric.gauge("messaging_numbers_held", {
  description: "Live numbers whose connections this worker has.",
})
const ownedShards = Metric.gauge("messaging_shards_held", {
  description: "Shards of live numbers that this worker has.",
})
const workers = Metric.gauge("messaging_workers", {
  description: "Workers that share the live numbers, as this one sees them.",
})

const clockSkewSeconds = Metric.gauge("messaging_clock_skew_seconds", {
  description:
    "Seconds that this process's system clock is ahead of the database's, negative when behind, as of the last comparison.",
})

export const countMoves = (direction: keyof typeof moves, shards: number): Effect.Effect<void> =>
  Metric.update(moves[direction], shards)

export const countLibraryFault = (platform: Platform): Effect.Effect<void> =>
  Metric.update(libraryFaults[platform], 1)

export const showNumbersHeld = (numbers: number, shards: number): Effect.Effect<void> =>
  Effect.andThen(Metric.update(ownedNumbers, numbers), Metric.update(ownedShards, shards))

export const showWorkers = (count: number): Effect.Effect<void> => Metric.update(workers, count)

/** As of the last comparison. */
export const clockSkew: Effect.Effect<number> = Effect.map(
  Metric.value(clockSkewSeconds),
  ({ value }) => value,
)

const storeRiskGauge = Metric.gauge("messaging_store_risk", {
  description:
    "1 while acknowledged commits could be lost with the database server for that reason.",
})

const riskGauges = storeRisks.map((risk) => ({
  risk,
  gauge: Metric.withAttributes(storeRiskGauge, { risk }),
}))

export const showStoreRisks = (risks: ReadonlyArray<StoreRisk>): Effect.Effect<void> =>
  Effect.forEach(
    riskGauges,
    ({ gauge, risk }) => Metric.update(gauge, risks.includes(risk) ? 1 : 0),
    {
      discard: true,
    },
  )

const callersHoldSeconds = Metric.gauge("messaging_callers_hold_seconds", {
  description:
    "Seconds for which the longest open transaction of the program's has held a number that it cancelled a message of, as of the last look; 0 without one.",
})

export const showCallersHold = (seconds: number): Effect.Effect<void> =>
  Metric.update(callersHoldSeconds, seconds)

export const showClockSkew = (seconds: number): Effect.Effect<void> =>
  Metric.update(clockSkewSeconds, seconds)

/** Exposes every counter from the start: rates need an initial zero. */
export const startCounting: Effect.Effect<void> = Effect.forEach(
  [
    ...Object.values(accepted),
    ...Object.values(ended.live),
    ...Object.values(ended.test),
    ...Object.values(attempts.webhook),
    ...Object.values(attempts.callback),
    ...Object.values(moves),
    ...Object.values(libraryFaults),
    rowsTaken,
  ],
  (each) => Metric.update(each, 0),
  { discard: true },
)

/** After the commit of an acceptance. */
export const countAccepted = ({ messages, mode }: Acceptance): Effect.Effect<void> =>
  Metric.update(accepted[mode], messages.length)

/** After the commit that took them on. */
export const countRowsTaken = (rows: number): Effect.Effect<void> => Metric.update(rowsTaken, rows)

// What people write. Only a process that has received something exposes them.

const receivedCounter = (name: string, description: string) =>
  counter(`messaging_received_${name}_total`, description, {})

const receivedCounters = {
  messages: receivedCounter("messages", "Received messages that this process stored."),
  repeats: receivedCounter(
    "repeats",
    "Times that a platform told this process of what was stored already.",
  ),
  unreadable: receivedCounter(
    "unreadable",
    "Received messages that this process stored unread, since no copy came.",
  ),
  gaps: receivedCounter("gaps", "Gaps in what a platform told this process."),
}

const receivedFiles = byName(receivedFileStates, (state) =>
  counter(
    "messaging_received_files_total",
    "Times that this process brought a file of a received message to a state.",
    { state },
  ),
)

const receivedAs: Readonly<
  Record<ReceivedOutcome["became"], keyof typeof receivedCounters | null>
> = {
  stored: "messages",
  recovered: null,
  waiting: null,
  changed: null,
  told: "gaps",
  repeat: "repeats",
  dropped: null,
}

/** What a number received and the store has not taken yet. */
interface UnstoredReceived {
  readonly since: number
  /** When the store last failed to take it; null while it is asked. */
  failedAt: number | null
}

/** By the registry of a process's counters. */
const unstored = new WeakMap<object, Map<NumberId, UnstoredReceived>>()

const ofUnstored = Effect.map(Effect.service(Metric.MetricRegistry), (registry) => {
  const waits = unstored.get(registry) ?? new Map<NumberId, UnstoredReceived>()
  unstored.set(registry, waits)
  return waits
})

const countAsReceived = (counters: ReadonlyArray<Metric.Counter<number>>): Effect.Effect<void> =>
  counters.length === 0
    ? Effect.void
    : Effect.all(
        [
          ofUnstored,
          ...[...Object.values(receivedCounters), ...Object.values(receivedFiles)].map((each) =>
            Metric.update(each, 0),
          ),
          countEach(counters),
        ],
        { discard: true },
      )

/** After the commit that had these outcomes. */
export const countReceived = (outcomes: ReadonlyArray<ReceivedOutcome>): Effect.Effect<void> =>
  countAsReceived(
    outcomes.flatMap(({ became, file }) => {
      const name = receivedAs[became]
      return [
        ...(name === null ? [] : [receivedCounters[name]]),
        ...(file === undefined ? [] : [receivedFiles[file]]),
      ]
    }),
  )

/** After the commit that stored so many messages as unreadable. */
export const countUnreadable = (messages: number): Effect.Effect<void> =>
  countAsReceived(
    Array.from({ length: messages }, () => [
      receivedCounters.messages,
      receivedCounters.unreadable,
    ]).flat(),
  )

/** After the commit that brought a file to that state. */
export const countReceivedFile = (state: ReceivedFileState): Effect.Effect<void> =>
  countAsReceived([receivedFiles[state]])

/** A released number does not retry. */
const triedAgainWithinMillis = 60_000

/** Notes how long a number's received messages wait for the store, over all tries of the write. */
export const timeStoring = <A, E extends { readonly _tag: string }>(
  numberId: NumberId,
  write: Effect.Effect<A, E>,
): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const waits = yield* ofUnstored
    const wait = waits.get(numberId) ?? { since: yield* Clock.currentTimeMillis, failedAt: null }
    wait.failedAt = null
    waits.set(numberId, wait)
    return yield* Effect.onExit(write, (exit) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const isAway = Exit.isFailure(exit) && isStoreAway(exit.cause)
        if (isAway) wait.failedAt = now
        else if (waits.get(numberId) === wait) waits.delete(numberId)
      }),
    )
  })

/** Everything else is an answer, or the end of the number's owner. */
const isStoreAway = (cause: Cause.Cause<{ readonly _tag: string }>): boolean =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => Cause.hasDies(cause),
    onSome: ({ _tag }) => _tag === "StoreUnavailable",
  })

/**
 * Seconds for which the oldest received message of this process has waited to be stored; null before the
 * first was received.
 */
export const unstoredSeconds: Effect.Effect<number | null> = Effect.gen(
  function* unstoredSeconds() {
    const waits = unstored.get(yield* Metric.MetricRegistry)
    if (waits === undefined) return null
    const now = yield* Clock.currentTimeMillis
    const since = [...waits.values()]
      .filter(({ failedAt }) => failedAt === null || now - failedAt < triedAgainWithinMillis)
      .map((wait) => wait.since)
    return Math.max(0, now - Math.min(now, ...since)) / 1000
  },
)

/** This process's counts since its start, both modes together. */
interface Counted {
  readonly sent: number
  readonly failed: number
  readonly cancelled: number
  readonly expired: number
  /** Successful calls to webhook endpoints and callbacks. */
  readonly delivered: number
  /** Failed calls; each try counts. */
  readonly notDelivered: number
}

const sum = (counters: ReadonlyArray<Metric.Counter<number>>): Effect.Effect<number> =>
  Effect.map(Effect.forEach(counters, Metric.value), (values) =>
    values.reduce((total, { count }) => total + count, 0),
  )

/** The current counts. */
export const counted: Effect.Effect<Counted> = Effect.all({
  sent: sum([ended.live.sent, ended.test.sent]),
  failed: sum([ended.live.failed, ended.test.failed]),
  cancelled: sum([ended.live.cancelled, ended.test.cancelled]),
  expired: sum([ended.live.expired, ended.test.expired]),
  delivered: sum([attempts.webhook.delivered, attempts.callback.delivered]),
  notDelivered: sum(
    deliveryErrors.flatMap((error) => [attempts.webhook[error], attempts.callback[error]]),
  ),
})

/** One update per counter: most of a batch share it. */
const countEach = (counters: ReadonlyArray<Metric.Counter<number>>): Effect.Effect<void> => {
  const counts = new Map<Metric.Counter<number>, number>()
  for (const each of counters) counts.set(each, (counts.get(each) ?? 0) + 1)
  return Effect.forEach(counts, ([each, count]) => Metric.update(each, count), { discard: true })
}

/** After the commit of these changes. */
export const countEnded = (changes: ReadonlyArray<MessageChange>): Effect.Effect<void> =>
  countEach(
    changes.flatMap(({ message: { mode, state } }) => (isEnding(state) ? ended[mode][state] : [])),
  )

/** After these attempts were recorded. */
export const countAttempts = (results: ReadonlyArray<DeliveryResult>): Effect.Effect<void> =>
  countEach(results.map(({ error, kind }) => attempts[kind][error ?? "delivered"]))

// The port that reads the service's state for metrics: what waits and how long, what is in flight,
// which numbers are connected. Every process reads the same figures.

/**
 * Limit on counted waiting messages and pending deliveries: enough to show trouble, and a backlog
 * of millions costs no more than none.
 */
export const maxCounted = 50_000

export interface NumberCount {
  readonly platform: Platform
  readonly status: NumberStatus
  readonly count: number
}

/** The size of a table. */
interface TableSize {
  readonly name: string
  /** An estimate, as of the latest vacuum; 0 before the first. */
  readonly rows: number
  /** On the disk, with indexes; 0 in memory. */
  readonly bytes: number
}

/** Live messages and live numbers; moments in epoch milliseconds. */
export interface Figures {
  /** Messages with status `queued` (`statusAt`), in-flight ones included. */
  readonly queued: number
  /** Messages with status `scheduled`. Both sum to at most `countAtMost`. */
  readonly scheduled: number
  /**
   * The earliest due time of unexpired waiting messages of present numbers: of connected numbers
   * and of others. Null when nothing waits there.
   */
  readonly firstDueAt: {
    readonly connected: number | null
    readonly notConnected: number | null
  }
  /** When the next lane can be claimed, as `DueWork.nextDue` says. */
  readonly laneDueAt: number | null
  readonly lanesInFlight: number
  /** Lanes in flight with an ended lease: their worker died or cannot renew. */
  readonly leasesRunOut: number
  /** Processes that run the worker and reported themselves of late (`isProcessSilent`). */
  readonly workersAlive: number
  /** The latest report of a process that runs the worker; null without one. */
  readonly workerSeenAt: number | null
  /** Present numbers; zero counts may be absent. */
  readonly numbers: ReadonlyArray<NumberCount>
  /** Pending webhook deliveries of both modes, in flight or not; at most `countAtMost`. */
  readonly deliveries: number
  /** Pending deliveries that failed before. */
  readonly retries: number
  readonly tables: ReadonlyArray<TableSize>
}

export interface ServiceFigures {
  /** One read. It counts up to `countAtMost`, except lanes and numbers. */
  figures(now: number, countAtMost: number): Effect.Effect<Figures, StoreUnavailable>
}
