/**
 * The port that keeps webhook endpoints and the delivery log. Every event's deliveries are queued
 * by the commit that writes the event: one for each endpoint of its workspace and mode that runs and
 * subscribed to its type, so that none is lost, none is doubled, and an endpoint made later gets
 * nothing. Ending an endpoint ends its pending deliveries in the same commit.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { CallbackAttempt } from "../event/MessageChange.ts"
import type { EventId, WebhookId, WorkspaceId } from "../Ids.ts"
import type { LeaseClaim, Shares } from "../limit/Bulkhead.ts"
import type { PingEvent } from "../message/Message.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Mode } from "../workspace/Workspace.ts"
import type {
  DeliveryAttempt,
  DeliveryError,
  WebhookEndpoint,
  WebhookEventType,
} from "./WebhookEndpoint.ts"

export type NewWebhook = Pick<
  WebhookEndpoint,
  | "workspaceId"
  | "mode"
  | "keyId"
  | "url"
  | "description"
  | "events"
  | "secretSalt"
  | "secretLast4"
  | "createdAt"
>

/** Whose endpoints: a key sees those of its own mode, the operator those of both (null). */
export interface WebhookScope {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode | null
}

export type WebhookInsertion =
  | { readonly _tag: "Inserted"; readonly endpoint: WebhookEndpoint }
  /** Which precondition did not hold; nothing was written. */
  | { readonly _tag: "Broken"; readonly guard: "idempotency" | "key" | "limit" }

/** What came of queueing one more delivery. */
export type Queueing =
  | { readonly _tag: "Queued"; readonly type: WebhookEventType }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "NoEndpoint" }
  | { readonly _tag: "NoEvent" }

export class WebhookStore extends Context.Service<
  WebhookStore,
  {
    /**
     * Guards, in this order: the claim is still held (`idempotency`); the key, if any, is not revoked, whose
     * endpoints would have stopped with it (`key`); fewer than `limit` running endpoints of the
     * workspace, both modes together (`limit`). Finishes the claim.
     */
    insert(
      endpoint: NewWebhook,
      limit: number,
      idempotency: IdempotencyClaim | null,
    ): Effect.Effect<WebhookInsertion, StoreUnavailable>
    /** Stopped ones too; null when unknown or removed. */
    get(scope: WebhookScope, id: WebhookId): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
    /** As it was made, also when it was removed since; for the repeat of its creation. */
    made(id: WebhookId): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
    /** Oldest first, stopped ones only when asked for. */
    list(
      scope: WebhookScope,
      stopped: boolean,
    ): Effect.Effect<ReadonlyArray<WebhookEndpoint>, StoreUnavailable>
    /** Replaces the secret: attempts claimed from now on are signed with the new one. */
    rotate(
      scope: WebhookScope,
      id: WebhookId,
      secret: Pick<WebhookEndpoint, "secretSalt" | "secretLast4">,
    ): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
    /** Removes it with its pending deliveries and its log; false when unknown. */
    remove(
      scope: WebhookScope,
      id: WebhookId,
      now: number,
    ): Effect.Effect<boolean, StoreUnavailable>
    /**
     * Lets a stopped endpoint run again, from now on counted as one to which something was delivered.
     * Guard: fewer than `limit` others run (`limit`). A running one is left as it is.
     */
    resume(
      scope: WebhookScope,
      id: WebhookId,
      limit: number,
      now: number,
    ): Effect.Effect<WebhookEndpoint | "limit" | null, StoreUnavailable>
    /** Queues a ping of that endpoint alone. */
    ping(
      scope: WebhookScope,
      id: WebhookId,
      event: PingEvent,
    ): Effect.Effect<Queueing, StoreUnavailable>
    /**
     * Queues an event once more, due at `now` with attempt 1, in place of a delivery of it that is
     * still pending. It must be kept and fit the endpoint (`canBeRedelivered`); a ping must have been
     * attempted at this endpoint.
     */
    redeliver(
      scope: WebhookScope,
      id: WebhookId,
      eventId: EventId,
      now: number,
    ): Effect.Effect<Queueing, StoreUnavailable>
    /** The delivery log, newest first. */
    attempts(
      id: WebhookId,
      page: PageQuery,
    ): Effect.Effect<PageOf<DeliveryAttempt>, StoreUnavailable>
    /** The delivery log of a workspace's callbacks, newest first. */
    callbackAttempts(
      workspaceId: WorkspaceId,
      page: PageQuery,
    ): Effect.Effect<PageOf<CallbackAttempt>, StoreUnavailable>
    /** Drops attempts, of callbacks too, made before `before`; the latest of them may be left for the next time. */
    forgetAttempts(before: number): Effect.Effect<void, StoreUnavailable>
  }
>()("core/WebhookStore") {}

// The port that hands out calls of receivers: deliveries to webhook endpoints, and version 1
// callbacks. What goes to one target goes through its lane, a few calls at once, so that no target
// delays another: a claim takes the first of every target, then the second of every one that has
// more, and so on, the longest due first in each round, until the limit is reached or nothing more
// may be taken. A claim comes with a lease; when it runs out unsettled the same attempt is handed out
// again. What counts as delivered and when to try again are rules of the core, not of its adapters.

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
