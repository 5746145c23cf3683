/** The callback loop: what is due for the addresses that messages and numbers report to. */
import { Context, Effect, Layer } from "effect"
import { CallbackCall } from "../callback/CallbackCall.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { CallbackQueue } from "../queue/CallbackQueue.ts"
import type { CallbackResult, ClaimedCallback } from "../queue/CallbackQueue.ts"
import { calls } from "./Deliverer.ts"
import { makeLeasedLoop } from "./LeasedWork.ts"
import type { LeasedLoop } from "./LeasedWork.ts"

/** Calls at once to one target, as to one webhook endpoint. */
const perTarget = 5

export class CallbackMaker extends Context.Service<CallbackMaker, LeasedLoop>()(
  "core/CallbackMaker",
) {
  static readonly layer = Layer.effect(
    CallbackMaker,
    Effect.gen(function* () {
      const queue = yield* CallbackQueue
      const { make } = yield* CallbackCall
      return yield* makeLeasedLoop<ClaimedCallback, CallbackResult>({
        work: "callbacks",
        capacity: sharedResources.callbackCalls,
        batch: calls.batch,
        leaseMillis: calls.leaseMillis,
        workspaceOf: calls.workspaceOf,
        claim: (query) => queue.claim({ ...query, perTarget }),
        perform: make,
        settle: queue.settle,
        refill: {
          settleAndClaim: (results, query) =>
            Effect.andThen(queue.settle(results), queue.claim({ ...query, perTarget })),
          isPutOff: calls.isPutOff,
        },
      })
    }),
  )
}
