/** The callback loop: what is due for the addresses that messages and numbers report to. */
import { Context, Effect, Layer } from "effect"
import { CallbackCall } from "../callback/CallbackCall.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { CallbackQueue } from "../queue/CallbackQueue.ts"
import { makeCallLoop } from "./CallLoop.ts"
import type { CallLoop } from "./CallLoop.ts"

/** Calls at once to one target, as to one webhook endpoint, and of one workspace. */
const atOnce = { perTarget: 5, perWorkspace: sharedResources.callbackCalls.share.most }

export class CallbackMaker extends Context.Service<CallbackMaker, CallLoop>()(
  "core/CallbackMaker",
) {
  static readonly layer = Layer.effect(
    CallbackMaker,
    Effect.gen(function* () {
      const queue = yield* CallbackQueue
      const { make } = yield* CallbackCall
      return yield* makeCallLoop({
        work: "callbacks",
        resource: sharedResources.callbackCalls,
        claim: (query) => queue.claim({ ...query, ...atOnce }),
        make,
        settle: queue.settle,
        settleAndClaim: (results, query) =>
          Effect.andThen(queue.settle(results), queue.claim({ ...query, ...atOnce })),
      })
    }),
  )
}
