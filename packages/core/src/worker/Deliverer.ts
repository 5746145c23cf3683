/**
 * The delivery loop: the calls that are due of webhook endpoints. One whose outcome was not recorded
 * is made again when its lease runs out: at least once.
 */
import { Context, Effect, Layer } from "effect"
import type { WorkspaceId } from "../id/Ids.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import type { ClaimedDelivery, DeliveryResult } from "../queue/DeliveryQueue.ts"
import { WebhookCall } from "../webhook/WebhookCall.ts"
import { makeLeasedLoop } from "./LeasedWork.ts"
import type { LeasedLoop } from "./LeasedWork.ts"

/** How long a call stays claimed, in service time: what it may take, and some to record it. */
export const deliveryLeaseMillis = 20_000

/** Calls at once to one endpoint (contract: Deliveries). */
export const callsPerEndpoint = 5

/** What calls of webhook endpoints and callbacks have in common. */
export const calls = {
  leaseMillis: deliveryLeaseMillis,
  /** Of a hundred receivers all that each may get, which costs little more than one. */
  batch: 512,
  workspaceOf: ({ workspaceId }: { readonly workspaceId: WorkspaceId }) => workspaceId,
  isPutOff: ({ nextAttemptAt }: { readonly nextAttemptAt: number | null }) =>
    nextAttemptAt !== null,
}

export class Deliverer extends Context.Service<Deliverer, LeasedLoop>()("core/Deliverer") {
  static readonly layer = Layer.effect(
    Deliverer,
    Effect.gen(function* () {
      const queue = yield* DeliveryQueue
      const { make } = yield* WebhookCall
      return yield* makeLeasedLoop<ClaimedDelivery, DeliveryResult>({
        work: "deliveries",
        capacity: sharedResources.webhookCalls,
        batch: calls.batch,
        leaseMillis: deliveryLeaseMillis,
        workspaceOf: calls.workspaceOf,
        claim: (query) => queue.claim({ ...query, perEndpoint: callsPerEndpoint }),
        perform: make,
        settle: queue.settle,
        refill: {
          settleAndClaim: (results, query) =>
            queue.settleAndClaim(results, { ...query, perEndpoint: callsPerEndpoint }),
          isPutOff: calls.isPutOff,
        },
      })
    }),
  )
}
