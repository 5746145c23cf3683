/**
 * Health and metrics, for those who watch the service (contract: Open paths): whether the process
 * runs, whether it can work, its counters, and the gauges of the whole service.
 */
import {
  campaignStates,
  maxCounted,
  notReadyReasons,
  NumberOwnership,
  numberStatuses,
  platforms,
  Readiness,
  sleepInRealTime,
  startCounting,
  unstoredSeconds,
  version,
  Store,
} from "@messaging-service/core"
import type {
  CampaignFigures,
  Figures,
  NotReadyReason,
  StoreUnavailable,
} from "@messaging-service/core"
import { Clock, Effect, Metric, Semaphore } from "effect"
import { format } from "effect/observability/PrometheusMetrics"
import { content, openRoute, success } from "../Entry.ts"
import type { OpenRoute } from "../Entry.ts"
import { bytesReply } from "../IncomingRequest.ts"
import type { Reply } from "../IncomingRequest.ts"
import type { Answer } from "../openapi/Operation.ts"

/** How long the store may take to answer, in real time. */
const longestWait = "2 seconds"

/** The store's answer, `otherwise` when it fails, or `late`, since probes do not wait long. */
export const askStore = <A>(
  question: Effect.Effect<A, StoreUnavailable>,
  otherwise: A,
  late: A = otherwise,
): Effect.Effect<A> =>
  Effect.raceFirst(question, Effect.as(sleepInRealTime(longestWait), late)).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(otherwise)),
    Effect.catchDefect(() => Effect.succeed(otherwise)),
  )

// Health

const ok: Reply = { status: 200, body: { status: "ok" } }
/** It works, and takes no more live numbers (`MAX_NUMBERS`). */
const full: Reply = { status: 200, body: { status: "full" } }

/** It works, and its store answers later than after two seconds. */
const slow: Reply = { status: 200, body: { status: "slow" } }

const unavailable: Reply = { status: 503, body: { status: "unavailable" } }

const answer = (statuses: readonly [string, ...Array<string>], description: string): Answer =>
  success(description, {
    "application/json": {
      schema: {
        json: {
          type: "object",
          properties: { status: { type: "string", enum: statuses } },
          required: ["status"],
          description,
        },
      },
      examples: { example: { status: statuses[0] } },
    },
  })

/** The services of handlers. */
export type MonitoringServices = NumberOwnership | Readiness

export const healthRoutes: ReadonlyArray<OpenRoute<MonitoringServices>> = [
  openRoute("/health/live", {
    id: "isLive",
    tag: "Service",
    summary: "Does the process run?",
    answers: [answer(["ok"], "It runs.")],
    handler: function isLive() {
      return Effect.succeed(ok)
    },
  }),
  openRoute("/health/ready", {
    id: "isReady",
    tag: "Service",
    summary: "Is the process ready to work?",
    answers: [
      answer(
        ["ok", "full", "slow"],
        "It is ready. `full`: this worker takes no more live numbers; `slow`: the store answers later than after 2 seconds.",
      ),
      { ...answer(["unavailable"], "It is not ready; log and metrics say why."), status: 503 },
    ],
    handler: Effect.fnUntraced(function* isReady() {
      const readiness = yield* Readiness
      if ((yield* readiness.notReady).size > 0) return unavailable
      if (yield* readiness.isStoreSlow) return slow
      const ownership = yield* NumberOwnership
      return (yield* ownership.room) > 0 ? ok : full
    }),
  }),
]

// Metrics in the text format of Prometheus. Gauges of the whole service are read from the store at most once
// in some seconds, however often they are requested. The path answers without the store too.

/** The maximum age of figures, by the service's clock: shorter than usual scrape intervals. */
const freshMillis = 5000

/** Reads once in that time, however many ask; each answer says when it was read. */
export const readSeldom = Effect.fnUntraced(function* readSeldom<A>(
  read: (now: number) => Effect.Effect<A, StoreUnavailable>,
) {
  const alone = yield* Semaphore.make(1)
  let cached: { readonly found: A; readonly at: number } | undefined
  return alone.withPermit(
    Effect.gen(function* readOrKeep() {
      const now = yield* Clock.currentTimeMillis
      if (cached !== undefined && now - cached.at < freshMillis) return cached
      return (cached = { found: yield* read(now), at: now })
    }),
  )
})

interface AllFigures extends Figures {
  readonly campaigns: CampaignFigures
}

/** One line of the answer: a gauge and its value. */
const gauge = (
  name: string,
  description: string,
  value: number,
  attributes: Readonly<Record<string, string>> = {},
) => Metric.update(Metric.gauge(name, { description, attributes }), value)

/** Seconds since that moment, 0 when it is in the future or missing. */
export const secondsSince = (instant: number | null, now: number): number =>
  instant === null ? 0 : Math.max(0, now - instant) / 1000

const waiting = (status: "queued" | "scheduled", value: number) =>
  gauge("messaging_messages_waiting", "Live messages that wait to be sent, by status.", value, {
    status,
  })

const oldest = (connection: "connected" | "not_connected", value: number) =>
  gauge(
    "messaging_oldest_waiting_seconds",
    "Seconds since the oldest live message that waits fell due, by the connection of its number.",
    value,
    { connection },
  )

const toNumberGauges = (figures: Figures) =>
  platforms.flatMap((platform) =>
    numberStatuses.map((status) =>
      gauge(
        "messaging_numbers",
        "Live numbers by platform and status.",
        figures.numbers.find((each) => each.platform === platform && each.status === status)
          ?.count ?? 0,
        { platform, status },
      ),
    ),
  )

const toNotReadyGauges = (reasons: ReadonlyMap<NotReadyReason, string>) =>
  notReadyReasons.map((reason) =>
    gauge(
      "messaging_not_ready",
      "1 while this process is not ready for that reason, else 0.",
      reasons.has(reason) ? 1 : 0,
      { reason },
    ),
  )

const campaignGauges = ({ byState, dueSince, pendingRows }: CampaignFigures, now: number) => [
  ...campaignStates.map((state) =>
    gauge("messaging_campaigns", "Campaigns of both modes, by state.", byState[state], { state }),
  ),
  gauge(
    "messaging_campaign_rows",
    "Rows of campaigns that have not ended, by status.",
    pendingRows,
    {
      status: "pending",
    },
  ),
  gauge(
    "messaging_campaign_lag_seconds",
    "Seconds since the most overdue campaign could have been looked at by a worker.",
    secondsSince(dueSince, now),
  ),
]

const toGauges = ({ campaigns, ...figures }: AllFigures, now: number) => [
  waiting("queued", figures.queued),
  waiting("scheduled", figures.scheduled),
  oldest("connected", secondsSince(figures.firstDueAt.connected, now)),
  oldest("not_connected", secondsSince(figures.firstDueAt.notConnected, now)),
  gauge(
    "messaging_lane_lag_seconds",
    "Seconds since the most overdue lane could have been claimed by a worker.",
    secondsSince(figures.laneDueAt, now),
  ),
  gauge(
    "messaging_lanes_in_flight",
    "Lanes whose message is in the hands of a transport.",
    figures.lanesInFlight,
  ),
  gauge(
    "messaging_leases_run_out",
    "Lanes in flight whose lease has run out and that no worker has taken over yet.",
    figures.leasesRunOut,
  ),
  gauge(
    "messaging_workers_alive",
    "Processes that do the work and reported themselves in the last 35 seconds.",
    figures.workersAlive,
  ),
  ...(figures.workerSeenAt === null
    ? []
    : [
        gauge(
          "messaging_worker_seen_seconds",
          "Seconds since a process that does the work last reported itself.",
          secondsSince(figures.workerSeenAt, now),
        ),
      ]),
  gauge(
    "messaging_webhook_deliveries_pending",
    "Webhook deliveries that are to be made, retries included.",
    figures.deliveries,
  ),
  gauge(
    "messaging_webhook_retries_pending",
    "Webhook deliveries that have failed before and are to be tried again.",
    figures.retries,
  ),
  ...toNumberGauges(figures),
  ...campaignGauges(campaigns, now),
  ...figures.tables.flatMap(({ bytes, name, rows }) => [
    gauge(
      "messaging_table_rows",
      "Rows of a table of the store, estimated by its latest vacuum.",
      rows,
      { table: name },
    ),
    gauge(
      "messaging_table_bytes",
      "What a table of the store takes on the disk, indexes included.",
      bytes,
      { table: name },
    ),
  ]),
]

/**
 * The lines of the answer at `now`; null when the store did not answer. Each scrape has a registry of its
 * own: values that the store did not provide are left out, and none come from an earlier scrape.
 */
const scrapedGauges = (
  figures: AllFigures | null,
  reasons: ReadonlyMap<NotReadyReason, string>,
  unstored: number | null,
  now: number,
): Effect.Effect<string> =>
  Effect.suspend(() =>
    Effect.all(
      [
        gauge("messaging_build_info", "1, with the version that this process runs.", 1, {
          version,
        }),
        ...toNotReadyGauges(reasons),
        gauge(
          "messaging_store_up",
          "1 when the store answered this scrape, else 0, and then its figures are missing.",
          figures === null ? 0 : 1,
        ),
        ...(unstored === null
          ? []
          : [
              gauge(
                "messaging_received_unstored_seconds",
                "Seconds for which the oldest received message of this process has waited to be stored.",
                unstored,
              ),
            ]),
        ...(figures === null ? [] : toGauges(figures, now)),
      ],
      { discard: true },
    ).pipe(Effect.andThen(format()), Effect.provideService(Metric.MetricRegistry, new Map())),
  )

const contentType = "text/plain; version=0.0.4; charset=utf-8"

export const metricsRoute = Effect.gen(function* metricsRoute() {
  const { campaigns, system } = yield* Store
  const read = yield* readSeldom((now) =>
    Effect.zipWith(
      system.figures(now, maxCounted),
      campaigns.figures(now),
      (figures, ofCampaigns): AllFigures => ({ ...figures, campaigns: ofCampaigns }),
    ),
  )
  const readiness = yield* Readiness
  const context = yield* Effect.context<never>()
  yield* startCounting
  return openRoute("/metrics", {
    id: "readMetrics",
    tag: "Service",
    summary: "Read the metrics",
    about: "Counters of this process, and figures of the whole service.",
    answers: [success("The text format of Prometheus.", content("text/plain", { type: "string" }))],
    handler: Effect.fnUntraced(function* readMetrics() {
      const [cached, reasons] = yield* Effect.all(
        [askStore<Effect.Success<typeof read> | null>(read, null), readiness.notReady],
        { concurrency: "unbounded" },
      )
      const gauges = yield* scrapedGauges(
        cached?.found ?? null,
        reasons,
        yield* Effect.provideContext(unstoredSeconds, context),
        cached?.at ?? (yield* Clock.currentTimeMillis),
      )
      const counted = yield* Effect.provideContext(format(), context)
      return bytesReply(contentType, new TextEncoder().encode(counted + gauges))
    }),
  })
})
