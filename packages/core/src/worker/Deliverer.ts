/**
 * The delivery loop: the calls that are due of webhook endpoints and of the receivers of callbacks. One
 * whose outcome was not recorded is made again when its lease runs out: at least once.
 */
import { Effect } from "effect"
import type { Capacity } from "../limit/Held.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import type { ClaimedDelivery, DeliveryQuery, DeliveryResult } from "../queue/DeliveryQueue.ts"
import { makeDeliveryCall } from "../webhook/DeliveryCall.ts"
import { makeEndpointWatch } from "../webhook/EndpointWatch.ts"
import { endpointLimit } from "../webhook/WebhookEndpoint.ts"
import { makeLeasedLoop } from "./LeasedWork.ts"
import type { LeaseQuery } from "./LeasedWork.ts"

/** How long a call stays claimed, in service time: what it may take, and some to record it. */
export const deliveryLeaseMillis = 20_000

/**
 * Deliveries that one claim takes: all that a hundred receivers may get at once. That many cost little
 * more than one.
 */
const batch = 512

/** Calls at once to one target (contract: Deliveries). */
export const callsPerTarget = 5

const { callbackCalls, receiverCalls } = sharedResources

/** Calls at once of webhook endpoints: a workspace has few of them, and claims need not count. */
const endpointCalls: Capacity = {
  whole: receiverCalls.whole,
  share: { most: endpointLimit * callsPerTarget },
}

/** A workspace's callbacks may lead anywhere, so that claims keep to its share of them. */
const queryOf = ({ held, limitShared, perWorkspace, ...query }: LeaseQuery): DeliveryQuery => ({
  ...query,
  perTarget: callsPerTarget,
  callbacks: { limit: limitShared, perWorkspace, held },
})

/** Makes the loop. */
export const makeDeliverer = Effect.gen(function* () {
  const queue = yield* DeliveryQueue
  const call = yield* makeDeliveryCall
  const watch = yield* makeEndpointWatch
  const perform = (claimed: ClaimedDelivery): Effect.Effect<DeliveryResult> =>
    Effect.map(call(claimed), (result) => {
      watch.performed(claimed, result)
      return result
    })
  return yield* makeLeasedLoop<ClaimedDelivery, DeliveryResult>({
    work: "deliveries",
    capacity: callbackCalls,
    capacityOf: ({ kind }) => (kind === "callback" ? callbackCalls : endpointCalls),
    whole: receiverCalls.whole,
    batch,
    leaseMillis: deliveryLeaseMillis,
    workspaceOf: ({ workspaceId }) => workspaceId,
    claim: (query) => queue.claim(queryOf(query)),
    perform,
    settle: (results) => Effect.tap(queue.settle(results), watch.recorded(results)),
    refill: {
      settleAndClaim: (results, query) =>
        Effect.tap(queue.settleAndClaim(results, queryOf(query)), watch.recorded(results)),
      isPutOff: ({ nextAttemptAt }) => nextAttemptAt !== null,
    },
  })
})
