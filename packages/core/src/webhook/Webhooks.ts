/**
 * Webhook endpoints, as customers' keys create, read and test them, and as operators see and resume
 * them (contract: Webhook endpoints, Webhook operations).
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { pingEvent } from "../event/MessageChange.ts"
import type { CallbackAttempt } from "../event/MessageChange.ts"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import { findOrRefuse, refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import { Ids, eventId } from "../Ids.ts"
import type { EventId, WebhookId, WorkspaceId } from "../Ids.ts"
import { authorize, scopeOf } from "../key/Auth.ts"
import type { AuthorizationCode, Caller, Authorized } from "../key/Auth.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { makeCursors, parsePageRequest } from "../request/Page.ts"
import type { CursorPage, ListPage } from "../request/Page.ts"
import { described, inputDecoder } from "../request/Input.ts"
import type { CommandOf } from "../request/Input.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { makeIdempotent } from "../request/makeIdempotent.ts"
import type { Repeatable } from "../request/makeIdempotent.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import {
  endpointAsMade,
  endpointLimit,
  endpointRequestParser,
  SigningSecrets,
} from "./WebhookEndpoint.ts"
import type {
  CreateWebhook,
  DeliveryAttempt,
  EndpointRequest,
  WebhookEndpoint,
  WebhookEventType,
} from "./WebhookEndpoint.ts"
import type { WebhookStore, Queueing, WebhookScope } from "./WebhookStore.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "../workspace/Workspaces.ts"

/** The body of POST …/webhooks/{webhook_id}/redeliver. */
export const RedeliverBody = Schema.Struct({
  eventId: described(Schema.String, "Of an event that was sent to this endpoint."),
}).annotate({ identifier: "RedeliverEvent" })

/** Which event. */
export type RedeliverEvent = CommandOf<typeof RedeliverBody.Encoded>

const decodeRedeliver = inputDecoder(RedeliverBody)

/** A new endpoint with its secret, which only this answer shows. */
export type EndpointWithSecret = WebhookEndpoint & { readonly secret: string }

/** An event queued for an endpoint. */
export interface QueuedEvent {
  readonly id: EventId
  readonly type: WebhookEventType
}

const notFound = "webhook_not_found"

/** What makes webhook endpoints. */
interface EndpointWork {
  readonly store: WebhookStore
  readonly egress: Egress["Service"]
  readonly secrets: SigningSecrets["Service"]["webhooks"]
}

/** Checks and stores an endpoint, and returns its secret once. */
const insert = Effect.fnUntraced(function* insert(
  { egress, secrets, store }: EndpointWork,
  { key, mode, workspaceId }: Authorized,
  request: EndpointRequest,
  claim: IdempotencyClaim | null,
): Effect.fn.Return<
  EndpointWithSecret,
  Failure<IdempotencyCode | "invalid_webhook_url" | "webhook_limit_reached" | "api_key_revoked">
> {
  if (!(yield* egress.allows(request.url, workspaceId))) {
    return yield* refuse("invalid_webhook_url", { field: "url" })
  }
  const { salt, secret } = yield* secrets.make
  const inserted = yield* store.insert(
    {
      ...request,
      workspaceId,
      mode,
      keyId: key?.id ?? null,
      secretSalt: salt,
      secretLast4: secret.slice(-4),
      createdAt: yield* Clock.currentTimeMillis,
    },
    endpointLimit,
    claim,
  )
  if (inserted._tag === "Inserted") return { ...inserted.endpoint, secret }
  switch (inserted.guard) {
    case "limit":
      return yield* refuse("webhook_limit_reached")
    case "key":
      return yield* refuse("api_key_revoked")
    case "idempotency":
      return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
  }
})

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /**
     * POST /webhooks: the answer holds the secret, a replay's does not. Fails with
     * `validation_failed`, `invalid_webhook_url`, `webhook_limit_reached` and those of idempotency.
     */
    create(
      caller: Caller,
      command: CreateWebhook,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<
      Repeatable<WebhookEndpoint | EndpointWithSecret>,
      Failure<
        | "webhook_not_found"
        | "api_key_revoked"
        | AuthorizationCode
        | IdempotencyCode
        | "validation_failed"
        | "invalid_webhook_url"
        | "webhook_limit_reached"
      >
    >
    /** GET /webhooks: running ones, oldest first. */
    list(caller: Caller): Effect.Effect<ReadonlyArray<WebhookEndpoint>, Failure<AuthorizationCode>>
    /** GET /webhooks/{id}: stopped ones too. Fails with `webhook_not_found`. */
    get(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<WebhookEndpoint, Failure<AuthorizationCode | "webhook_not_found">>
    /** DELETE /webhooks/{id}: deliveries to it end. Fails with `webhook_not_found`. */
    remove(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<WebhookId, Failure<AuthorizationCode | "webhook_not_found">>
    /**
     * POST /webhooks/{id}/rotate-secret: the old secret stops working at once. Fails with
     * `webhook_not_found`.
     */
    rotateSecret(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<EndpointWithSecret, Failure<AuthorizationCode | "webhook_not_found">>
    /**
     * POST /webhooks/{id}/test: queues a `ping` to that endpoint. Fails with `webhook_not_found`,
     * `webhook_stopped`.
     */
    test(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<
      QueuedEvent,
      Failure<"event_not_found" | AuthorizationCode | "webhook_not_found" | "webhook_stopped">
    >
  }
>()("core/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* make() {
      const store = (yield* Store).webhooks
      const ids = yield* Ids
      const secrets = (yield* SigningSecrets).webhooks
      const making: EndpointWork = { store, egress: yield* Egress, secrets }
      const idempotent = yield* makeIdempotent
      const wakeUp = yield* WakeUp
      const parse = endpointRequestParser(yield* OutboundRule)

      return Webhooks.of({
        create: Effect.fn("Webhooks.create")(function* create(given, command, idempotency) {
          const caller = yield* authorize(given, "createWebhook")
          const request = yield* Effect.fromResult(parse(command))
          return yield* idempotent.run(caller, idempotency, {
            work: (claim) => insert(making, caller, request, claim),
            again: ([id]) =>
              Effect.map(
                findOrRefuse(notFound, id as WebhookId | undefined, store.made),
                endpointAsMade,
              ),
          })
        }),
        list: Effect.fn("Webhooks.list")(function* list(given) {
          const caller = yield* authorize(given, "listWebhooks")
          return yield* store.list(scopeOf(caller), false)
        }),
        get: Effect.fn("Webhooks.get")(function* get(given, id) {
          const caller = yield* authorize(given, "getWebhook")
          return yield* findOrRefuse(notFound, id, (known) => store.get(scopeOf(caller), known))
        }),
        remove: Effect.fn("Webhooks.remove")(function* remove(given, id) {
          const caller = yield* authorize(given, "deleteWebhook")
          const now = yield* Clock.currentTimeMillis
          return id !== undefined && (yield* store.remove(scopeOf(caller), id, now))
            ? id
            : yield* refuse(notFound)
        }),
        rotateSecret: Effect.fn("Webhooks.rotateSecret")(function* rotateSecret(given, id) {
          const caller = yield* authorize(given, "rotateWebhookSecret")
          const { salt, secret } = yield* secrets.make
          const made = { secretSalt: salt, secretLast4: secret.slice(-4) }
          const rotated = yield* findOrRefuse(notFound, id, (known) =>
            store.rotate(scopeOf(caller), known, made),
          )
          return { ...rotated, secret }
        }),
        test: Effect.fn("Webhooks.test")(function* test(given, id) {
          const caller = yield* authorize(given, "testWebhook")
          const now = yield* Clock.currentTimeMillis
          const ping = eventId(ids, now)
          const queueing = yield* findOrRefuse(notFound, id, (known) =>
            store.ping(scopeOf(caller), known, pingEvent(ping, known, now)),
          )
          return yield* queuedOrRefused(ping, queueing, wakeUp)
        }),
      })
    }),
  )
}

export class WebhookOperations extends Context.Service<
  WebhookOperations,
  {
    /** GET /workspaces/{id}/webhooks: of both modes, stopped ones included, oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<WebhookEndpoint>, Failure<WorkspaceCode>>
    /** GET …/webhooks/{webhook_id}/deliveries: the attempts, newest first. */
    deliveries(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<DeliveryAttempt>,
      Failure<WorkspaceCode | "webhook_not_found" | "validation_failed" | "invalid_cursor">
    >
    /** GET /workspaces/{id}/callbacks/deliveries: the attempts, newest first. */
    callbackDeliveries(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<CallbackAttempt>,
      Failure<WorkspaceCode | "validation_failed" | "invalid_cursor">
    >
    /**
     * POST …/webhooks/{webhook_id}/resume: a stopped endpoint runs again. Fails with
     * `webhook_limit_reached` when the workspace already runs as many as allowed.
     */
    resume(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
    ): Effect.Effect<
      WebhookEndpoint,
      Failure<WorkspaceCode | "webhook_not_found" | "webhook_limit_reached">
    >
    /**
     * POST …/webhooks/{webhook_id}/redeliver: queues that event again, on a new schedule. Fails
     * with `event_not_found`, `webhook_stopped`.
     */
    redeliver(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      command: RedeliverEvent,
    ): Effect.Effect<
      QueuedEvent,
      Failure<
        | WorkspaceCode
        | "validation_failed"
        | "webhook_not_found"
        | "webhook_stopped"
        | "event_not_found"
      >
    >
  }
>()("core/WebhookOperations") {
  static readonly layer = Layer.effect(
    WebhookOperations,
    Effect.gen(function* make() {
      const store = (yield* Store).webhooks
      const workspaces = yield* Workspaces
      const cursors = yield* makeCursors
      const wakeUp = yield* WakeUp

      const scopeIn = (role: Role, workspaceId: WorkspaceId | undefined) =>
        Effect.map(workspaces.within(role, workspaceId, "webhooks"), ({ id }): WebhookScope => ({
          workspaceId: id,
          mode: null,
        }))

      return WebhookOperations.of({
        list: Effect.fn("WebhookOperations.list")(function* list(role, workspaceId) {
          return yield* store.list(yield* scopeIn(role, workspaceId), true)
        }),
        deliveries: Effect.fn("WebhookOperations.deliveries")(
          function* deliveries(role, workspaceId, id, query) {
            const asked = yield* Effect.fromResult(parsePageRequest(query))
            const scope = yield* scopeIn(role, workspaceId)
            const endpoint = yield* findOrRefuse(notFound, id, (known) => store.get(scope, known))
            return yield* cursors.page(asked, ["deliveries", endpoint.id], (page) =>
              store.attempts(endpoint.id, page),
            )
          },
        ),
        callbackDeliveries: Effect.fn("WebhookOperations.callbackDeliveries")(
          function* callbackDeliveries(role, workspaceId, query) {
            const asked = yield* Effect.fromResult(parsePageRequest(query))
            const scope = yield* scopeIn(role, workspaceId)
            const binding = ["callback deliveries", scope.workspaceId]
            return yield* cursors.page(asked, binding, (page) =>
              store.callbackAttempts(scope.workspaceId, page),
            )
          },
        ),
        resume: Effect.fn("WebhookOperations.resume")(function* resume(role, workspaceId, id) {
          const scope = yield* scopeIn(role, workspaceId)
          const now = yield* Clock.currentTimeMillis
          const resumed = yield* findOrRefuse(notFound, id, (known) =>
            store.resume(scope, known, endpointLimit, now),
          )
          return resumed === "limit" ? yield* refuse("webhook_limit_reached") : resumed
        }),
        redeliver: Effect.fn("WebhookOperations.redeliver")(
          function* redeliver(role, workspaceId, id, command) {
            const scope = yield* scopeIn(role, workspaceId)
            const endpoint = yield* findOrRefuse(notFound, id, (known) => store.get(scope, known))
            const input = yield* Effect.fromResult(decodeRedeliver(command))
            const event = input.eventId as EventId
            const now = yield* Clock.currentTimeMillis
            const queueing = yield* store.redeliver(scope, endpoint.id, event, now)
            return yield* queuedOrRefused(event, queueing, wakeUp)
          },
        ),
      })
    }),
  )
}

/** The queued event, with its loop woken; or the refusal. */
const queuedOrRefused = Effect.fnUntraced(function* queuedOrRefused(
  id: EventId,
  queueing: Queueing,
  { wake }: typeof WakeUp.Service,
) {
  switch (queueing._tag) {
    case "Queued":
      yield* wake("deliveries")
      return { id, type: queueing.type }
    case "Stopped":
      return yield* refuse("webhook_stopped")
    case "NoEvent":
      return yield* refuse("event_not_found")
    case "NoEndpoint":
      return yield* refuse(notFound)
  }
})
