/**
 * Whether the process runs, and whether its store answers and more can be written (contract: Open
 * paths).
 */
import { NumberOwnership, Readiness, sleepInRealTime } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { Answer } from "../openapi/Operation.ts"
import type { Reply } from "../route/IncomingRequest.ts"
import { openRoute, success } from "./OpenRoute.ts"

/** How long the store may take to answer, in real time. */
const longestWait = "2 seconds"

/** The store's answer for health and metrics, whose callers do not wait for long; `otherwise` when it fails, or does not answer in time. */
export const askStore = <A>(
  question: Effect.Effect<A, StoreUnavailable>,
  otherwise: A,
): Effect.Effect<A> =>
  Effect.raceFirst(question, Effect.as(sleepInRealTime(longestWait), otherwise)).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(otherwise)),
    Effect.catchDefect(() => Effect.succeed(otherwise)),
  )

const ok: Reply = { status: 200, body: { status: "ok" } }
/** It works, and takes no more live numbers (`MAX_NUMBERS`). */
const full: Reply = { status: 200, body: { status: "full" } }
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

export const healthRoutes = Effect.gen(function* () {
  const readiness = yield* Readiness
  const ownership = yield* NumberOwnership

  const ready = Effect.gen(function* () {
    if ((yield* readiness.notReady).size > 0) return unavailable
    return (yield* ownership.room) > 0 ? ok : full
  })

  return [
    openRoute("/health/live", {
      id: "isLive",
      tag: "Service",
      summary: "Does the process run?",
      answers: [answer(["ok"], "It runs.")],
      handler: () => Effect.succeed(ok),
    }),
    openRoute("/health/ready", {
      id: "isReady",
      tag: "Service",
      summary: "Is the process ready to work?",
      answers: [
        answer(["ok", "full"], "It is; `full`: this worker takes no more live numbers."),
        { ...answer(["unavailable"], "It is not; its log and its metrics say why."), status: 503 },
      ],
      handler: () => ready,
    }),
  ]
})
