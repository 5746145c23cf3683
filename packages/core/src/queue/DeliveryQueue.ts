/**
 * The port that hands out what is to be delivered to webhook endpoints, a few at once for each, so
 * that none delays another: a claim takes the first of every endpoint, then the second of every one
 * that has more, and so on, the longest due first in each round, until the limit is reached or
 * nothing more may be taken. A claim comes with a lease; when it runs
 * out unsettled the same attempt is handed out again. What counts as delivered and when to try again
 * are rules of the core, not of its adapters.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { EventId, WebhookId, WorkspaceId } from "../id/Ids.ts"
import type { DeliveryError } from "../webhook/WebhookEndpoint.ts"

export interface DeliveryQuery {
  readonly now: number
  /** When the leases run out, unless they are settled before. */
  readonly leaseUntil: number
  /** Deliveries to claim at most. */
  readonly limit: number
  /** How many of one endpoint may be in flight at once, those claimed before included. */
  readonly perEndpoint: number
}

export interface ClaimedDelivery {
  readonly id: number
  readonly endpointId: WebhookId
  /** Whose endpoint it is. */
  readonly workspaceId: WorkspaceId
  readonly lease: number
  readonly eventId: EventId
  /** The frozen event, as every attempt sends it. */
  readonly body: string
  /** This attempt, from 1. */
  readonly attempt: number
  readonly url: string
  /** Of the secret at the moment of the claim. */
  readonly secretSalt: string
}

export interface DeliveryResult {
  readonly id: number
  readonly endpointId: WebhookId
  readonly lease: number
  readonly attemptedAt: number
  readonly durationMillis: number
  readonly responseStatus: number | null
  /** Null: delivered. */
  readonly error: DeliveryError | null
  /** When the next attempt is due; null when delivered, or when there is none. */
  readonly nextAttemptAt: number | null
  /**
   * The event has used up its attempts: the endpoint stops (`delivery_failures`) unless something
   * was delivered, or it was made or resumed, after this moment. Else null.
   */
  readonly stopUnlessDeliveredSince: number | null
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    claim(query: DeliveryQuery): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable>
    /**
     * Records attempts in the log, each only if its lease is still the delivery's, and ends or
     * reschedules its delivery; stops endpoints as the results say. One commit.
     */
    settle(results: ReadonlyArray<DeliveryResult>): Effect.Effect<void, StoreUnavailable>
    /** Settles, and claims what is due after that, in one commit. */
    settleAndClaim(
      results: ReadonlyArray<DeliveryResult>,
      query: DeliveryQuery,
    ): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable>
    /**
     * Returns when a commit of this process has queued deliveries for an event; at once if that
     * happened since it last returned. Other processes are heard of by polling.
     */
    readonly queued: Effect.Effect<void>
  }
>()("core/DeliveryQueue") {}
