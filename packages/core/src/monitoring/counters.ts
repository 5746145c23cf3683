/**
 * What this process has done since it started, as Effect metrics in the registry of its context.
 * Each counter of each label is made once, here, so that counting looks nothing up and makes nothing.
 */
import { storeRisks } from "../restore/RestoreStore.ts"
import type { StoreRisk } from "../restore/RestoreStore.ts"
import { Effect, Metric } from "effect"
import type { Acceptance } from "../message/MessageStore.ts"
import type { Message } from "../message/Message.ts"
import type { MessageChange } from "../message/MessageChange.ts"
import type { DeliveryResult, TargetKind } from "../queue/DeliveryQueue.ts"
import { deliveryErrors } from "../webhook/WebhookEndpoint.ts"
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
export interface Counted {
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
