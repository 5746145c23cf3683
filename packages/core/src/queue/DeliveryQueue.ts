/**
 * The port that hands out events for delivery to webhook endpoints: what is due, at most a few at
 * once for each endpoint, under a lease like the lanes'. The outbox feeds it; the schedule of
 * retries and what counts as delivered are rules of the core, not of its adapters.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { EventId } from "../id/Ids.ts"

export interface ClaimedDelivery {
  readonly id: number
  readonly endpointId: number
  readonly eventId: EventId
  /** The frozen bytes of the event. */
  readonly body: string
  /** From 1. */
  readonly attempt: number
  readonly lease: number
}

export interface DeliveryResult {
  readonly id: number
  readonly lease: number
  readonly attemptedAt: number
  readonly delivered: boolean
  readonly responseStatus: number | null
  readonly error: string | null
  readonly durationMillis: number
  /** When the next attempt is due; null when there is none. */
  readonly nextAttemptAt: number | null
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    /** Due deliveries, the longest due first, at most `perEndpoint` in flight for each endpoint. */
    claim(query: {
      readonly now: number
      readonly leaseUntil: number
      readonly limit: number
      readonly perEndpoint: number
    }): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable>
    /** Records attempts, each only if its lease is still the delivery's. */
    settle(results: ReadonlyArray<DeliveryResult>): Effect.Effect<void, StoreUnavailable>
  }
>()("core/DeliveryQueue") {}
