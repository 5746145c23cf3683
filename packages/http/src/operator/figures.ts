/** How a workspace and the service do (contract: Figures). */
import {
  clockSkew,
  described,
  FiguresInput,
  MediaFiles,
  maxCounted,
  numberStatuses,
  platforms,
  processKinds,
  Readiness,
  Store,
  version,
  waitWithin,
  WorkspaceFigures,
} from "@messaging-service/core"
import type { FigureCounts, Figures, ReadFigures, PublicFigures } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { jsonBody, query, Time } from "../Entry.ts"
import { askStore, readSeldom, secondsSince } from "../open/monitoring.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"

const route = operatorRoute("Figures")

// Of a workspace

const wait = (part: string) =>
  described(
    Schema.NullOr(Schema.Int),
    `From due to sent: ${part} waited no longer, to the step of a histogram. Null where nothing was sent.`,
  )

const BucketJson = Schema.Struct({
  at: Time,
  accepted: Schema.Int,
  sent: Schema.Int,
  failed: Schema.Int,
  expired: Schema.Int,
  cancelled: Schema.Int,
  deliveries: described(Schema.Int, "Attempts to deliver an event to a webhook endpoint."),
  deliveriesFailed: described(Schema.Int, "Those of them that failed."),
  waitP50Millis: wait("half of the messages"),
  waitP95Millis: wait("95 of 100 messages"),
}).annotate({ identifier: "FiguresBucket" })

const FiguresJson = Schema.Struct({
  now: Time,
  buckets: described(
    Schema.Array(BucketJson),
    "Oldest first, up to the end of the present hour: 24 of 1 h, 28 of 6 h or 30 of 1 d.",
  ),
  before: described(
    Schema.Struct({ accepted: Schema.Int, sent: Schema.Int, failed: Schema.Int }),
    "Of the span before, which is as long.",
  ),
  failures: described(
    Schema.Array(Schema.Struct({ code: Schema.String, count: Schema.Int })),
    "Failed messages of the span by error code, most first.",
  ),
  waitP50Millis: wait("half of the span's messages"),
  waitP95Millis: wait("95 of 100 of the span's messages"),
  waiting: Schema.Struct({
    queued: described(Schema.Int, "Counted up to 50,000."),
    scheduled: described(Schema.Int, "Counted up to 50,000."),
    oldestDueAt: described(Schema.NullOr(Time), "Of queued messages; null without any."),
  }),
  allowance: Schema.Struct({
    remaining: described(Schema.NullOr(Schema.Int), "Null for unlimited."),
  }),
  storage: Schema.Struct({
    usedBytes: described(Schema.Int, "Of the files of both modes."),
    limitBytes: Schema.Int,
  }),
}).annotate({ identifier: "Figures" })

const shownWaits = (waits: FigureCounts["waits"]) => ({
  waitP50Millis: waitWithin(waits, 0.5),
  waitP95Millis: waitWithin(waits, 0.95),
})

const shownFigures = ({
  messagesRemaining,
  present,
  storageLimitBytes,
  ...figures
}: PublicFigures): typeof FiguresJson.Type => ({
  ...figures,
  buckets: figures.buckets.map((bucket) => ({ ...bucket, ...shownWaits(bucket.waits) })),
  ...shownWaits(figures.waits),
  waiting: present,
  allowance: { remaining: messagesRemaining },
  storage: { usedBytes: present.usedBytes, limitBytes: storageLimitBytes },
})

const exampleFigures = {
  now: "2030-01-31T07:00:00Z",
  buckets: [
    {
      at: "2030-01-31T07:00:00Z",
      accepted: 214,
      sent: 208,
      failed: 3,
      expired: 0,
      cancelled: 1,
      deliveries: 215,
      deliveries_failed: 4,
      wait_p50_ms: 1000,
      wait_p95_ms: 30_000,
    },
  ],
  before: { accepted: 190, sent: 188, failed: 1 },
  failures: [{ code: "recipient_not_found", count: 3 }],
  wait_p50_ms: 1000,
  wait_p95_ms: 30_000,
  waiting: { queued: 2, scheduled: 12, oldest_due_at: "2030-01-31T06:59:30Z" },
  allowance: { remaining: 4786 },
  storage: { used_bytes: 1_482_113, limit_bytes: 1_073_741_824 },
}

// Of the service

/** Shown processes: those that reported themselves last. */
const maxProcesses = 200

const ProcessJson = Schema.Struct({
  name: Schema.String,
  kind: described(Schema.Literals(processKinds), "`embedded`: inside another program."),
  works: described(
    Schema.Boolean,
    "Whether it sends messages and calls webhooks: a server with `WORKER=separate` does not.",
  ),
  seenAt: described(
    Time,
    "Its last sign of life. It reports itself every 15 s; after 35 s without a report it has died or cannot reach the store.",
  ),
  numbersHeld: described(
    Schema.NullOr(Schema.Int),
    "Live numbers whose connections it has; null where processes do not share numbers.",
  ),
  shardsHeld: described(Schema.NullOr(Schema.Int), "Of 256."),
}).annotate({ identifier: "Process" })

const ServiceFiguresJson = Schema.Struct({
  now: Time,
  storeUp: described(
    Schema.Boolean,
    "Whether the store answered. If not, its figures are null and `processes` is empty.",
  ),
  storeSlow: described(
    Schema.Boolean,
    "Whether it answers, but later than after 2 seconds; `store_up` is false then.",
  ),
  waiting: Schema.NullOr(Schema.Struct({ queued: Schema.Int, scheduled: Schema.Int })),
  oldestWaitingSeconds: Schema.NullOr(
    Schema.Struct({ connected: Schema.Finite, notConnected: Schema.Finite }),
  ),
  laneLagSeconds: Schema.NullOr(Schema.Finite),
  lanesInFlight: Schema.NullOr(Schema.Int),
  leasesRunOut: Schema.NullOr(Schema.Int),
  webhookDeliveriesPending: Schema.NullOr(Schema.Int),
  webhookRetriesPending: Schema.NullOr(Schema.Int),
  numbers: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        platform: Schema.Literals(platforms),
        status: Schema.Literals(numberStatuses),
        count: Schema.Int,
      }),
    ),
  ),
  disk: described(
    Schema.NullOr(Schema.Struct({ freeBytes: Schema.Int, reserveBytes: Schema.Int })),
    "Of the process that answers; null without a disk for files.",
  ),
  clockSkewSeconds: described(
    Schema.Finite,
    "How far the clock of the process that answers is ahead of the database's.",
  ),
  version: Schema.String,
  processes: Schema.Array(ProcessJson),
}).annotate({ identifier: "ServiceFigures" })

type StoreFigures = Pick<
  typeof ServiceFiguresJson.Type,
  | "waiting"
  | "oldestWaitingSeconds"
  | "laneLagSeconds"
  | "lanesInFlight"
  | "leasesRunOut"
  | "webhookDeliveriesPending"
  | "webhookRetriesPending"
  | "numbers"
>

const noStoreFigures: StoreFigures = {
  waiting: null,
  oldestWaitingSeconds: null,
  laneLagSeconds: null,
  lanesInFlight: null,
  leasesRunOut: null,
  webhookDeliveriesPending: null,
  webhookRetriesPending: null,
  numbers: null,
}

const storeFigures = (figures: Figures, at: number): StoreFigures => ({
  waiting: figures,
  oldestWaitingSeconds: {
    connected: secondsSince(figures.firstDueAt.connected, at),
    notConnected: secondsSince(figures.firstDueAt.notConnected, at),
  },
  laneLagSeconds: secondsSince(figures.laneDueAt, at),
  lanesInFlight: figures.lanesInFlight,
  leasesRunOut: figures.leasesRunOut,
  webhookDeliveriesPending: figures.deliveries,
  webhookRetriesPending: figures.retries,
  numbers: platforms.flatMap((platform) =>
    numberStatuses.map((status) => ({
      platform,
      status,
      count:
        figures.numbers.find((each) => each.platform === platform && each.status === status)
          ?.count ?? 0,
    })),
  ),
})

const exampleServiceFigures = {
  now: "2030-01-31T07:00:00Z",
  store_up: true,
  store_slow: false,
  waiting: { queued: 2, scheduled: 12 },
  oldest_waiting_seconds: { connected: 0.4, not_connected: 0 },
  lane_lag_seconds: 0.1,
  lanes_in_flight: 2,
  leases_run_out: 0,
  webhook_deliveries_pending: 1,
  webhook_retries_pending: 1,
  numbers: [{ platform: "whatsapp", status: "connected", count: 14 }],
  disk: { free_bytes: 48_318_382_080, reserve_bytes: 1_073_741_824 },
  clock_skew_seconds: 0.003,
  version: "0.1.0",
  processes: [
    {
      name: "worker-1-42",
      kind: "worker",
      works: true,
      seen_at: "2030-01-31T06:59:50Z",
      numbers_held: 14,
      shards_held: 256,
    },
  ],
}

export const workspaceFigures = route(`GET ${workspacePath}/figures`, {
  id: "readFigures",
  right: "read",
  summary: "Read a workspace's figures",
  about: "They are exact: a worker counts what happened once a minute, and reading adds the rest.",
  request: query<ReadFigures>()(FiguresInput),
  success: "What happened in that span, and what waits.",
  answer: jsonBody(FiguresJson, exampleFigures),
  refused: ["workspace_not_found"],
  handler: Effect.fnUntraced(function* readFigures({ id, request }) {
    const figures = yield* WorkspaceFigures
    return shownFigures(yield* figures.read(id("id"), request))
  }),
})

export const serviceFigures = Effect.gen(function* serviceFigures() {
  const store = (yield* Store).system
  const files = yield* MediaFiles
  const readiness = yield* Readiness
  const context = yield* Effect.context<never>()
  const read = yield* readSeldom((at) =>
    Effect.all({
      figures: store.figures(at, maxCounted),
      processes: store.processes(maxProcesses),
    }),
  )
  return route("GET /admin/v1/figures", {
    id: "readServiceFigures",
    right: "operator",
    summary: "Read the service's figures",
    about: "Those of `/metrics`, read at most every 5 seconds, and the processes on the store.",
    success: "How the service does.",
    answer: jsonBody(ServiceFiguresJson, exampleServiceFigures),
    handler: Effect.fnUntraced(function* readServiceFigures() {
      const answer = yield* askStore<Effect.Success<typeof read> | "late" | null>(
        read,
        null,
        "late",
      )
      const figures = answer === "late" ? null : answer
      const room = yield* Effect.orElseSucceed(files.space, () => null)
      return {
        now: yield* Clock.currentTimeMillis,
        storeUp: figures !== null,
        storeSlow: answer === "late" && !(yield* readiness.notReady).has("store"),
        ...(figures === null ? noStoreFigures : storeFigures(figures.found.figures, figures.at)),
        disk: room && {
          freeBytes: Math.floor(room.free),
          reserveBytes: Math.floor(room.reserve),
        },
        clockSkewSeconds: yield* Effect.provideContext(clockSkew, context),
        version,
        processes: figures?.found.processes ?? [],
      }
    }),
  })
})
