/** Common to every command that repeats until it gets an answer. */
import { Admission, Keys } from "@messaging-service/core"
import type { Failure, KeyId } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Lost } from "../calls.ts"
import type { Answer, CallRequest, State } from "../History.ts"
import type { Services } from "../SimulatedService.ts"
import type { Stage } from "./Feature.ts"

const second = 1000

/** The caller's refusal; null when no answer came, or one that asks for a repeat. */
export const getRefusal = (
  failure: Failure | Lost,
): Extract<Answer, { _tag: "Refused" }> | null => {
  if (failure._tag !== "Refusal") return null
  const { code, details } = failure
  // A process with a wrong clock accepts nothing; callers repeat elsewhere.
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
  readonly request: CallRequest
  readonly effect: Effect.Effect<A, Failure, Services>
  answer(value: A): Answer
  /** How often it repeats without an answer. */
  readonly tries?: number
}

/** Repeats until there is an answer, or returns null: callers hang up, and processes die. */
export const retryUntilAnswered = <A>(
  stage: Stage,
  { answer, request, effect, tries = 4 }: Asking<A>,
): Effect.Effect<Answer | null> =>
  Effect.gen(function* () {
    for (let attempt = 0; attempt < tries; attempt++) {
      const call = stage.recordRequest(request)
      const result = yield* Effect.result(stage.callProcess(effect))
      const heard = Result.isSuccess(result) ? answer(result.success) : getRefusal(result.failure)
      if (heard !== null) stage.answered(call, heard)
      const isRefusal = heard?._tag === "Refused"
      if (heard !== null && !(isRefusal && heard.code === "idempotency_in_progress")) return heard
      yield* Effect.sleep(stage.chance.below(3 * second))
    }
    return null
  })

export const done = (): Answer => ({ _tag: "Done" })

/** Creates a key for the commands that name it. */
export const makeKey = (key: string, mode: "live" | "test", onlyNumber?: number) =>
  Effect.fnUntraced(function* (stage: Stage) {
    yield* retryUntilAnswered(stage, {
      request: { _tag: "MakeKey", key },
      effect: Keys.use((keys) =>
        keys.create("owner", stage.tenant.workspace, {
          version: 2,
          name: key,
          mode,
          numberIds: onlyNumber === undefined ? null : [Number(stage.tenant.numbers[onlyNumber])],
        }),
      ),
      answer: (newApiKey) => {
        // Only answered ones: a lost answer created a key without a name.
        const id = Number(newApiKey.record.id)
        stage.keys.set(key, { id, token: newApiKey.key })
        return { _tag: "Made", id, secret: null, isReplayed: false }
      },
    })
  })

export const revokeKey = (key: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const known = stage.keys.get(key)
    if (known === undefined) return
    yield* retryUntilAnswered(stage, {
      request: { _tag: "RevokeKey", key },
      effect: Keys.use((keys) => keys.revoke("owner", stage.tenant.workspace, known.id as KeyId)),
      answer: done,
    })
  })

/** Admits a request with the named key, or the caller that is never revoked. */
export const admitted = (stage: Stage, key: string | null, mode: "live" | "test") => {
  if (key === null) return Effect.succeed(stage.tenant.callers[mode])
  const token = stage.keys.get(key)?.token ?? ""
  return Effect.map(
    Admission.use((admission) => admission.admitV2(`Bearer ${token}`, "192.0.2.1")),
    ({ caller }) => caller,
  )
}
