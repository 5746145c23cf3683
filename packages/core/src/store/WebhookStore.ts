/**
 * Ports for webhook endpoints, the delivery log and the delivery queue. An event's commit queues
 * one delivery for each running, subscribed endpoint of its workspace and mode. So none is lost or
 * doubled, and later endpoints get nothing. Ending an endpoint ends its pending deliveries in the
 * same commit.
 */
import type { Effect, Scope } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { CallbackAttempt } from "../model/MessageChange.ts"
import type { EventId, WebhookId, WorkspaceId } from "../model/Ids.ts"
import type { LeaseClaim, Shares } from "../model/Bulkhead.ts"
import type { PingEvent, ServiceEvent } from "../model/Event.ts"
import type { IdempotencyClaim } from "../model/Idempotency.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { Mode } from "../model/Workspace.ts"
import type {
  DeliveryAttempt,
  DeliveryError,
  EndpointChange,
  WebhookEndpoint,
  WebhookEventType,
} from "../model/WebhookEndpoint.ts"

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

/** A key sees endpoints of its own mode, the operator those of both (null). */
export interface WebhookScope {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode | null
}

export type WebhookInsertion =
  | { readonly _tag: "Inserted"; readonly endpoint: WebhookEndpoint }
  /** The precondition that failed; nothing was written. */
  | { readonly _tag: "Conflict"; readonly guard: "idempotency" | "key" | "limit" }

/** The result of queueing one more delivery. */
export type Queueing =
  | { readonly _tag: "Queued"; readonly type: WebhookEventType }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "NoEndpoint" }
  | { readonly _tag: "NoEvent" }

/** Which attempts of the log; null: any. */
export interface DeliveryFilter {
  readonly types: ReadonlyArray<WebhookEventType> | null
  /** Only those that delivered nothing. */
  readonly failed: boolean
  /** Attempted then or later, in epoch milliseconds. */
  readonly since: number | null
  /** Attempted before. */
  readonly until: number | null
}

/** An attempt with what was sent and answered. */
export interface LoggedDelivery {
  readonly attempt: DeliveryAttempt
  /** The event as sent; null once it is erased. */
  readonly requestBody: string | null
  /** The first KiB of the answer; null without an answer, and when it is not text. */
  readonly responseBody: string | null
}

export interface Undelivered {
  /** Positions in the outbox, ascending. */
  readonly positions: ReadonlyArray<number>
  /** The endpoint's latest attempt that was looked at; 0 for none. */
  readonly seen: number
}

/** The result of recovering events. */
export type Recovery =
  | { readonly _tag: "Queued"; readonly count: number }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "NoEndpoint" }

export interface WebhookStore {
  /**
   * Guards, in order: the claim is held (`idempotency`); the key, if any, is not revoked (`key`);
   * the workspace runs fewer than `limit` endpoints, both modes together (`limit`). Finishes the
   * claim.
   */
  insert(
    endpoint: NewWebhook,
    limit: number,
    idempotency: IdempotencyClaim | null,
  ): Effect.Effect<WebhookInsertion, StoreUnavailable>
  /** Stopped ones too; null when unknown or removed. */
  get(scope: WebhookScope, id: WebhookId): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
  /** As created, without an attempt, even if removed since; answers a repeat of its creation. */
  created(id: WebhookId): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
  /** Oldest first, stopped ones only on request. */
  list(
    scope: WebhookScope,
    stopped: boolean,
  ): Effect.Effect<ReadonlyArray<WebhookEndpoint>, StoreUnavailable>
  /** Replaces the secret: attempts claimed from now on use the new one. */
  rotate(
    scope: WebhookScope,
    id: WebhookId,
    secret: Pick<WebhookEndpoint, "secretSalt" | "secretLast4">,
  ): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
  /** Removes it with its pending deliveries and its log; false when unknown. */
  remove(scope: WebhookScope, id: WebhookId, now: number): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Resumes a stopped endpoint, counting now as its last delivery; running ones stay unchanged.
   * Guard: fewer than `limit` others run (`limit`).
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
   * Queues an event again, due at `now` with attempt 1. Replaces a delivery of it that waits. A
   * call in flight keeps its place among those of its target; its attempt is logged, and not
   * retried. The event must be stored and fit the endpoint (`canBeRedelivered`); a ping must have
   * been attempted there.
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
    filter: DeliveryFilter,
    page: PageQuery,
  ): Effect.Effect<PageOf<DeliveryAttempt>, StoreUnavailable>
  /** One attempt of that endpoint, with its bodies. */
  attempt(id: WebhookId, attempt: number): Effect.Effect<LoggedDelivery | null, StoreUnavailable>
  /**
   * Replaces what a change gives; attempts claimed from now on use it. Null when unknown. `created`
   * still answers the endpoint as it was created.
   */
  update(
    scope: WebhookScope,
    id: WebhookId,
    change: EndpointChange,
  ): Effect.Effect<WebhookEndpoint | null, StoreUnavailable>
  /**
   * Stored events since `since` that fit the endpoint (`canBeRedelivered`) and that no attempt has
   * delivered, oldest first, at most `limit`.
   */
  undelivered(
    scope: WebhookScope,
    id: WebhookId,
    since: number,
    limit: number,
  ): Effect.Effect<Undelivered, StoreUnavailable>
  /**
   * Queues them again as `redeliver` does, but leaves those that are in flight, still due for the
   * first time, or delivered after `seen`. Oldest first.
   */
  recover(
    scope: WebhookScope,
    id: WebhookId,
    undelivered: Undelivered,
    now: number,
  ): Effect.Effect<Recovery, StoreUnavailable>
  /** A workspace's callback log, newest first. */
  callbackAttempts(
    workspaceId: WorkspaceId,
    page: PageQuery,
  ): Effect.Effect<PageOf<CallbackAttempt>, StoreUnavailable>
  /**
   * Deletes attempts before `before`, callbacks included. The latest may stay for the next call.
   */
  forgetAttempts(before: number): Effect.Effect<void, StoreUnavailable>
}

// The port that queues calls to receivers: webhook deliveries and version 1 callbacks. Each target
// has a lane with few concurrent calls, so that no target delays another.
// A claim goes round robin over targets, the longest due first in each round, until a limit is
// reached. An unsettled attempt is handed out again when its lease ends. The core, not the adapter,
// decides what counts as delivered and when to retry.

/** A webhook endpoint, or an origin of a workspace's version 1 callbacks. */
export type TargetKind = "webhook" | "callback"

export interface DeliveryQuery extends LeaseClaim {
  /** In-flight calls per target, earlier claims included. */
  readonly perTarget: number
  /**
   * How many of the deliveries may be callbacks, in total and per workspace: callbacks may have any
   * number of targets.
   */
  readonly callbacks: Shares & { readonly limit: number }
}

export interface ClaimedDelivery {
  readonly id: number
  readonly kind: TargetKind
  /** The endpoint's id; negative for a callback's target. */
  readonly targetId: number
  readonly workspaceId: WorkspaceId
  readonly lease: number
  readonly eventId: EventId
  /** Identical in every attempt. */
  readonly body: string
  /** From 1. */
  readonly attempt: number
  readonly url: string
  /**
   * Of the secret when claimed: the endpoint's, or the workspace's for callbacks (null until
   * changed).
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
  /** The beginning of an endpoint's answer; null when it is not text, and of callbacks. */
  readonly responseBody: string | null
  /** Null: delivered. */
  readonly error: DeliveryError | null
  /** When the next attempt is due; null when delivered or exhausted. */
  readonly nextAttemptAt: number | null
  /**
   * The attempts are exhausted: the endpoint stops (`delivery_failures`) unless it was delivered
   * to, created or resumed after this time. Else null, as for every callback.
   */
  readonly stopUnlessDeliveredSince: number | null
}

export interface DeliveryQueue {
  claimDeliveries(
    query: DeliveryQuery,
  ): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable>
  /**
   * Logs attempts if their lease is still current, ends or reschedules their deliveries, and stops
   * endpoints. A delivery that a redelivery replaced ends. One commit.
   */
  settleDeliveries(results: ReadonlyArray<DeliveryResult>): Effect.Effect<void, StoreUnavailable>
  /** Settles, and claims what is due after that, in one commit. */
  settleAndClaimDeliveries(
    results: ReadonlyArray<DeliveryResult>,
    query: DeliveryQuery,
  ): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable>
  /**
   * Runs `notify` after each commit of this process that queued deliveries, while the scope is
   * open. Polling finds those of other processes.
   */
  whenQueued(notify: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope>
}

/** How long events and their delivery log stay readable and redeliverable. */
export const eventsRetentionMillis = 30 * 24 * 60 * 60 * 1000

export interface OutboxEvent extends Omit<ServiceEvent, "id" | "receivedMessageId"> {
  /** Position in the outbox, growing. */
  readonly id: number
  readonly eventId: EventId
  /** The message's reference; null without one, and once the message is erased. */
  readonly reference: string | null
}

export interface Outbox {
  /** Events after a position, oldest first. */
  readEvents(
    after: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<OutboxEvent>, StoreUnavailable>
  /** The largest position so far; 0 before the first. */
  readonly latestEvent: Effect.Effect<number, StoreUnavailable>
  /**
   * Deletes events older than `before`, unless they or older ones are still to be delivered. The
   * latest may stay for the next call.
   */
  forgetEvents(before: number): Effect.Effect<void, StoreUnavailable>
}
