/**
 * The port that hands out calls of receivers: deliveries to webhook endpoints, and version 1
 * callbacks. What goes to one target goes through its lane, a few calls at once, so that no target
 * delays another: a claim takes the first of every target, then the second of every one that has
 * more, and so on, the longest due first in each round, until the limit is reached or nothing more
 * may be taken. A claim comes with a lease; when it runs out unsettled the same attempt is handed out
 * again. What counts as delivered and when to try again are rules of the core, not of its adapters.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { EventId, WorkspaceId } from "../Ids.ts"
import type { LeaseClaim, Shares } from "../limit/Held.ts"
import type { DeliveryError } from "../webhook/WebhookEndpoint.ts"

/** A webhook endpoint, or an origin that a workspace's version 1 callbacks go to. */
export type TargetKind = "webhook" | "callback"

export interface DeliveryQuery extends LeaseClaim {
  /** How many to one target may be in flight at once, those claimed before included. */
  readonly perTarget: number
  /**
   * How many of the deliveries may be callbacks, in all and of each workspace: a workspace has few
   * endpoints, but its callbacks may have any number of targets.
   */
  readonly callbacks: Shares & { readonly limit: number }
}

export interface ClaimedDelivery {
  readonly id: number
  readonly kind: TargetKind
  /** The endpoint's id; of a callback's target a number below zero. */
  readonly targetId: number
  /** Whose endpoint or callback it is. */
  readonly workspaceId: WorkspaceId
  readonly lease: number
  readonly eventId: EventId
  /** As every attempt sends it. */
  readonly body: string
  /** This attempt, from 1. */
  readonly attempt: number
  readonly url: string
  /**
   * Of the secret at the moment of the claim: the endpoint's, or that of the workspace's callbacks,
   * null until that was changed.
   */
  readonly secretSalt: string | null
}

export interface DeliveryResult {
  readonly id: number
  readonly kind: TargetKind
  readonly targetId: number
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
   * was delivered, or it was made or resumed, after this moment. Else null, as for every callback.
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
     * Runs `tell` after each commit of this process that queued deliveries, while the scope is open.
     * Other processes are heard of by polling.
     */
    whenQueued(tell: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope>
  }
>()("core/DeliveryQueue") {}
