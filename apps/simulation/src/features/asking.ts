/** Common to every command that repeats until it gets an answer. */
import type { Failure } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Lost } from "../calls.ts"
import type { Answer, Ask, State } from "../History.ts"
import type { Services } from "../SimulatedService.ts"
import type { Stage } from "./Feature.ts"

const second = 1000

/** The caller's refusal; null when no answer came, or one that asks for a repeat. */
export const refusalOf = (failure: Failure | Lost): Extract<Answer, { _tag: "Refused" }> | null => {
  if (failure._tag !== "Refusal") return null
  const { code, details } = failure
  // A process whose clock is wrong accepts nothing; callers repeat elsewhere.
  if (code === "service_unavailable") return null
  return {
    _tag: "Refused",
    code,
    status: (details?.["status"] as State | undefined) ?? null,
    isSending: details?.["sending"] === true,
    ...(typeof details?.["messageId"] === "number" ? { kept: details["messageId"] } : {}),
  }
}

export interface Asking<A> {
  readonly ask: Ask
  readonly effect: Effect.Effect<A, Failure, Services>
  answer(value: A): Answer
  /** How often it repeats without an answer. */
  readonly tries?: number
}

/** Repeats until there is an answer, or returns null: callers hang up, and processes die. */
export const askUntilAnswered = <A>(
  stage: Stage,
  { answer, ask, effect, tries = 4 }: Asking<A>,
): Effect.Effect<Answer | null> =>
  Effect.gen(function* () {
    for (let attempt = 0; attempt < tries; attempt++) {
      const call = stage.asked(ask)
      const result = yield* Effect.result(stage.ask(effect))
      const heard = Result.isSuccess(result) ? answer(result.success) : refusalOf(result.failure)
      if (heard !== null) stage.answered(call, heard)
      const isRefusal = heard?._tag === "Refused"
      if (heard !== null && !(isRefusal && heard.code === "idempotency_in_progress")) return heard
      yield* Effect.sleep(stage.chance.below(3 * second))
    }
    return null
  })

export const done = (): Answer => ({ _tag: "Done" })
