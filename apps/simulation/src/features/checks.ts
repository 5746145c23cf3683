/** Number checks: lists of phones, some of them duplicated, repeated with the same key. */
import { NumberChecks } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { CallRequest } from "../History.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

/** How often a caller repeats a request. */
const tries = 8

type Check = Extract<CallRequest, { readonly _tag: "Check" }>

const check = (requested: Check) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { callers, numbers } = stage.tenant
    const { key, mode, phones } = requested
    const from = Number(numbers[requested.number])
    for (let attempt = 0; attempt < tries; attempt++) {
      const call = stage.recordRequest(requested)
      const result = yield* Effect.result(
        stage.callProcess(
          NumberChecks.use((service) =>
            service.create(callers[mode], { phones, from }, { key, fingerprint: key }),
          ),
        ),
      )
      if (Result.isSuccess(result)) {
        stage.answered(call, { _tag: "Accepted", ids: [Number(result.success.answer.id)] })
        if (stage.chance.below(3) !== 0) return
      } else if (result.failure._tag === "Refusal") {
        const { code } = result.failure
        stage.answered(call, { _tag: "Refused", code, status: null, isSending: false })
        if (code !== "idempotency_in_progress") return
      }
      yield* Effect.sleep(stage.chance.below(3000))
    }
  })

/** One call of the directory takes fifty: most lists take several. */
const longLists = { min: 51, max: 130 }
const shortLists = { min: 1, max: 6 }

export const checks: Feature = {
  name: "checks",
  plan: ({ chance, instant, numbers }) => {
    if (chance.below(2) !== 0) return []
    return Array.from({ length: 1 + chance.below(3) }, (_, index): Command => {
      const { min, max } = chance.below(3) === 0 ? shortLists : longLists
      const total = min + chance.below(max - min)
      const phones = Array.from(
        { length: total },
        () => `+1555${chance.below(5) === 0 ? "9990000" : String(2_000_000 + chance.below(400))}`,
      )
      const key = `check ${index}`
      const mode = chance.below(4) === 0 ? "test" : "live"
      const number = chance.below(numbers)
      return {
        at: instant(),
        name: key,
        perform: check({ _tag: "Check", key, phones, mode, number }),
      }
    })
  },
}
