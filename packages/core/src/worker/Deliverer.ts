/** The delivery loop: what is due for webhook endpoints. */
import { Context, Effect, Layer } from "effect"
import { sharedResources } from "../limit/sharedResources.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { WebhookCall } from "../webhook/WebhookCall.ts"
import { makeCallLoop } from "./CallLoop.ts"
import type { CallLoop } from "./CallLoop.ts"

/** Calls at once to one endpoint (contract: Deliveries). */
export const callsPerEndpoint = 5

export class Deliverer extends Context.Service<Deliverer, CallLoop>()("core/Deliverer") {
  static readonly layer = Layer.effect(
    Deliverer,
    Effect.gen(function* () {
      const queue = yield* DeliveryQueue
      const { make } = yield* WebhookCall
      return yield* makeCallLoop({
        work: "deliveries",
        resource: sharedResources.webhookCalls,
        claim: (query) => queue.claim({ ...query, perEndpoint: callsPerEndpoint }),
        make,
        settle: queue.settle,
        settleAndClaim: (results, query) =>
          queue.settleAndClaim(results, { ...query, perEndpoint: callsPerEndpoint }),
      })
    }),
  )
}
