/**
 * What this process has done since it started, as Effect metrics in the registry of its context.
 * Each counter of each label is made once, here, so that counting looks nothing up and makes nothing.
 */
import { Context, Effect, Metric } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { MessageChange } from "../event/MessageChange.ts"
import type { Message } from "../message/Message.ts"
import type { Acceptance } from "../message/MessageStore.ts"
import type { NumberStatus, Platform } from "../number/SendingNumber.ts"
import { storeRisks } from "../restore/Restoration.ts"
import type { StoreRisk } from "../restore/Restoration.ts"
import { deliveryErrors } from "../webhook/WebhookEndpoint.ts"
import type { DeliveryResult, TargetKind } from "../webhook/WebhookStore.ts"
import type { Mode } from "../workspace/Workspace.ts"

/** One counter for each combination of labels. */
const counter = (name: string, description: string, attributes: Record<string, string>) =>
  Metric.counter(name, { description, attributes, incremental: true })

/** Something for each of these names, made once. */
const byName = <Name extends string, A>(names: ReadonlyArray<Name>, make: (name: Name) => A) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Readonly<Record<Name, A>>

const modes: ReadonlyArray<Mode> = ["live", "test"]

const accepted = byName(modes, (mode) =>
  counter("messaging_messages_accepted_total", "Messages that this process accepted.", { mode }),
)

/** The states in which waiting ends. */
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

/** Counters of calls to customers' addresses, by what came of them. */
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

/** How shards of numbers come to a worker and go from it. */
const moves = byName(["taken", "given", "lost"], (direction) =>
  counter(
    "messaging_shard_moves_total",
    "Shards of live numbers that this worker took, gave to another, or lost since the store confirmed them no more.",
    { direction },
  ),
)

const numbersHeld = Metric.gauge("messaging_numbers_held", {
  description: "Live numbers whose connections this worker has.",
})
const shardsHeld = Metric.gauge("messaging_shards_held", {
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

export const showNumbersHeld = (numbers: number, shards: number): Effect.Effect<void> =>
  Effect.andThen(Metric.update(numbersHeld, numbers), Metric.update(shardsHeld, shards))

export const showWorkers = (count: number): Effect.Effect<void> => Metric.update(workers, count)

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

export const showClockSkew = (seconds: number): Effect.Effect<void> =>
  Metric.update(clockSkewSeconds, seconds)

/** Shows every counter from the start: a rate needs a zero to begin with. */
export const startCounting: Effect.Effect<void> = Effect.forEach(
  [
    ...Object.values(accepted),
    ...Object.values(ended.live),
    ...Object.values(ended.test),
    ...Object.values(attempts.webhook),
    ...Object.values(attempts.callback),
    ...Object.values(moves),
  ],
  (each) => Metric.update(each, 0),
  { discard: true },
)

/** After the commit of an acceptance. */
export const countAccepted = ({ messages, mode }: Acceptance): Effect.Effect<void> =>
  Metric.update(accepted[mode], messages.length)

/** What this process has done since it started, in both modes together. */
interface Counted {
  readonly sent: number
  readonly failed: number
  readonly cancelled: number
  readonly expired: number
  /** Calls of webhook endpoints and callbacks that were answered with success. */
  readonly delivered: number
  /** Calls that failed; each try is one. */
  readonly notDelivered: number
}

const sum = (counters: ReadonlyArray<Metric.Counter<number>>): Effect.Effect<number> =>
  Effect.map(Effect.forEach(counters, Metric.value), (values) =>
    values.reduce((total, { count }) => total + count, 0),
  )

/** As it stands now. */
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

/** Once for all that are counted alike: most of a batch are. */
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

// The port that tells how the whole service stands, for its metrics: what waits and for how long,
// what is in flight, which numbers are connected. Every process reads the same figures.

/**
 * How many waiting messages are counted, and how many pending deliveries: enough to see trouble, and
 * few enough that a look at a store with a backlog of millions costs no more than one without.
 */
export const mostCounted = 50_000

export interface NumberCount {
  readonly platform: Platform
  readonly status: NumberStatus
  readonly count: number
}

/** What a table of the store holds. */
interface TableSize {
  readonly name: string
  /** An estimate, as of the latest vacuum; 0 before the first. */
  readonly rows: number
  /** On the disk, with indexes; 0 in memory. */
  readonly bytes: number
}

/** Live messages and live numbers; moments in epoch milliseconds. */
export interface Figures {
  /** Messages whose status is `queued` (`statusAt`), those being sent included. */
  readonly queued: number
  /** Messages whose status is `scheduled`. The sum of both is `countAtMost` when there are more. */
  readonly scheduled: number
  /**
   * When the first message fell or falls due that waits, has not expired, and whose number is not
   * removed: of connected numbers and of the others. Null when nothing waits there.
   */
  readonly firstDueAt: {
    readonly connected: number | null
    readonly notConnected: number | null
  }
  /** When the next lane can or could be claimed, as `WorkStatus.nextDue` says of lanes. */
  readonly laneDueAt: number | null
  /** Lanes with a message in the hands of a transport. */
  readonly lanesInFlight: number
  /** Those of them whose lease has run out: their worker died, or cannot renew. */
  readonly leasesRunOut: number
  /** Numbers that are not removed; what there is none of may be left out. */
  readonly numbers: ReadonlyArray<NumberCount>
  /** Webhook deliveries to be made, in flight or not, of both modes; `countAtMost` when there are more. */
  readonly deliveries: number
  /** Those of them that failed before. */
  readonly retries: number
  readonly tables: ReadonlyArray<TableSize>
}

export class ServiceFigures extends Context.Service<
  ServiceFigures,
  {
    /** One look at the store. Nothing is counted further than `countAtMost`, but lanes and numbers. */
    read(now: number, countAtMost: number): Effect.Effect<Figures, StoreUnavailable>
  }
>()("core/ServiceFigures") {}
