/** Asking the store for health and metrics, whose callers do not wait for long. */
import { sleepInRealTime } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"

/** How long the store may take to answer, in real time. */
const patience = "2 seconds"

/** The store's answer; `otherwise` when it fails, or does not answer in time. */
export const askStore = <A>(
  question: Effect.Effect<A, StoreUnavailable>,
  otherwise: A,
): Effect.Effect<A> =>
  Effect.raceFirst(question, Effect.as(sleepInRealTime(patience), otherwise)).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(otherwise)),
    Effect.catchDefect(() => Effect.succeed(otherwise)),
  )
