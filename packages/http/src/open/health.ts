/**
 * Whether the process runs, and whether its store answers and more can be written (contract: Open
 * paths).
 */
import { filesUnavailable } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import { ClockStore, MediaFiles, sleepInRealTime } from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { Reply } from "../route/IncomingRequest.ts"
import { commonHeaders } from "../openapi/headers.ts"
import type { Answer } from "../openapi/Operation.ts"
import type { OpenRoute } from "./OpenRoute.ts"

/** How long the store may take to answer, in real time. */
const patience = "2 seconds"

/** The store's answer for health and metrics, whose callers do not wait for long; `otherwise` when it fails, or does not answer in time. */
export const askStore = <A>(
  question: Effect.Effect<A, StoreUnavailable>,
  otherwise: A,
): Effect.Effect<A> =>
  Effect.raceFirst(question, Effect.as(sleepInRealTime(patience), otherwise)).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(otherwise)),
    Effect.catchDefect(() => Effect.succeed(otherwise)),
  )

const ok: Reply = { status: 200, body: { status: "ok" } }
const unavailable: Reply = { status: 503, body: { status: "unavailable" } }

const answer = (code: number, status: string, description: string): Answer => ({
  status: code,
  description,
  headers: commonHeaders,
  content: {
    "application/json": {
      schema: {
        json: {
          type: "object",
          properties: { status: { type: "string", const: status } },
          required: ["status"],
          description,
        },
      },
      examples: { example: { status } },
    },
  },
})

export const healthRoutes = Effect.gen(function* () {
  const store = yield* ClockStore
  const files = yield* MediaFiles

  const ready = Effect.andThen(
    Effect.mapError(files.ready, filesUnavailable("health.ready")),
    store.ping,
  ).pipe(Effect.as(ok), (asked) => askStore(asked, unavailable))

  const routes: ReadonlyArray<OpenRoute> = [
    {
      method: "GET",
      path: "/health/live",
      id: "isLive",
      tag: "Service",
      summary: "Does the process run?",
      answers: [answer(200, "ok", "It runs.")],
      handler: () => Effect.succeed(ok),
    },
    {
      method: "GET",
      path: "/health/ready",
      id: "isReady",
      tag: "Service",
      summary: "Does the store answer?",
      answers: [
        answer(200, "ok", "It answers."),
        answer(503, "unavailable", "It does not answer."),
      ],
      handler: () => ready,
    },
  ]
  return routes
})
