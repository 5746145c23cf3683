/**
 * The webhook endpoints of a workspace, as the customer's keys make, read and test them (contract:
 * Webhook endpoints).
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import type { DeletedJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { pingEvent } from "../event/PingEvent.ts"
import { Ids, eventId } from "../id/Ids.ts"
import type { WebhookId } from "../id/Ids.ts"
import { permit, scopeOf } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { described } from "../request/Described.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { Idempotent } from "../request/Idempotent.ts"
import type { Repeatable } from "../request/Idempotent.ts"
import { endpointRequestParser } from "./EndpointRequest.ts"
import type { EndpointRequest } from "./EndpointRequest.ts"
import { SigningSecrets } from "./SigningSecrets.ts"
import {
  createdEndpointJson,
  endpointJson,
  endpointLimit,
  webhookEventTypes,
} from "./WebhookEndpoint.ts"
import type { EndpointJson, EndpointWithSecret, WebhookEndpoint } from "./WebhookEndpoint.ts"
import { WebhookStore } from "./WebhookStore.ts"
import type { WebhookScope } from "./WebhookStore.ts"

/** An event that is on its way to an endpoint. */
export const QueuedEvent = Schema.Struct({
  event_id: described(Schema.String, "`evt_` and 24 characters."),
  type: Schema.Literals([...webhookEventTypes, "ping"]),
  queued: Schema.Literal(true),
}).annotate({ identifier: "QueuedEvent" })

export type QueuedEvent = typeof QueuedEvent.Type

type Failure = Refusal | StoreUnavailable

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /**
     * POST /webhooks: the answer holds the secret, a replay's does not. Fails with
     * `validation_failed`, `invalid_webhook_url`, `webhook_limit_reached` and those of idempotency.
     */
    create(
      caller: Caller,
      body: unknown,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<Repeatable<EndpointJson | EndpointWithSecret>, Failure>
    /** GET /webhooks: running ones, oldest first. */
    list(caller: Caller): Effect.Effect<{ readonly data: ReadonlyArray<EndpointJson> }, Failure>
    /** GET /webhooks/{id}: a stopped one too. Fails with `webhook_not_found`. */
    get(caller: Caller, id: WebhookId | undefined): Effect.Effect<EndpointJson, Failure>
    /** DELETE /webhooks/{id}: nothing more is sent to it. Fails with `webhook_not_found`. */
    remove(caller: Caller, id: WebhookId | undefined): Effect.Effect<DeletedJson, Failure>
    /**
     * POST /webhooks/{id}/rotate-secret: the old secret stops working at once. Fails with
     * `webhook_not_found`.
     */
    rotateSecret(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<EndpointWithSecret, Failure>
    /**
     * POST /webhooks/{id}/test: queues a `ping` to that endpoint. Fails with `webhook_not_found`,
     * `webhook_stopped`.
     */
    test(caller: Caller, id: WebhookId | undefined): Effect.Effect<QueuedEvent, Failure>
  }
>()("core/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const ids = yield* Ids
      const egress = yield* Egress
      const secrets = (yield* SigningSecrets).webhooks
      const idempotent = yield* Idempotent
      const wakeUp = yield* WakeUp
      const parse = endpointRequestParser(yield* OutboundRule)
      const notFound = refuse("webhook_not_found")

      const insert = (
        { key, mode, workspaceId }: Permitted,
        request: EndpointRequest,
        claim: IdempotencyClaim | null,
      ): Effect.Effect<EndpointWithSecret, Failure> =>
        Effect.gen(function* () {
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
          if (inserted._tag === "Inserted") return { ...endpointJson(inserted.endpoint), secret }
          switch (inserted.guard) {
            case "limit":
              return yield* refuse("webhook_limit_reached")
            case "key":
              return yield* refuse("api_key_revoked")
            case "idempotency":
              return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
          }
        })

      const again = ([id]: ReadonlyArray<number>) =>
        Effect.gen(function* () {
          const made = id === undefined ? null : yield* store.made(id as WebhookId)
          return createdEndpointJson(made ?? (yield* notFound))
        })

      /** Something with an endpoint that the caller sees, or `webhook_not_found`. */
      const withEndpoint = <A>(
        caller: Permitted,
        id: WebhookId | undefined,
        find: (scope: WebhookScope, id: WebhookId) => Effect.Effect<A | null, StoreUnavailable>,
      ) =>
        Effect.gen(function* () {
          const found = id === undefined ? null : yield* find(scopeOf(caller), id)
          return found ?? (yield* notFound)
        })

      return Webhooks.of({
        create: Effect.fn("Webhooks.create")(function* (given, body, idempotency) {
          const caller = yield* permit(given, "createWebhook")
          const request = yield* Effect.fromResult(parse(body))
          return yield* idempotent.run<EndpointJson | EndpointWithSecret, Failure>(
            caller,
            idempotency,
            { work: (claim) => insert(caller, request, claim), again },
          )
        }),
        list: Effect.fn("Webhooks.list")(function* (given) {
          const caller = yield* permit(given, "listWebhooks")
          const endpoints = yield* store.list(scopeOf(caller), false)
          return { data: endpoints.map(endpointJson) }
        }),
        get: Effect.fn("Webhooks.get")(function* (given, id) {
          const caller = yield* permit(given, "getWebhook")
          return endpointJson(yield* withEndpoint(caller, id, store.get))
        }),
        remove: Effect.fn("Webhooks.remove")(function* (given, id) {
          const caller = yield* permit(given, "deleteWebhook")
          const now = yield* Clock.currentTimeMillis
          const removed =
            id !== undefined && (yield* store.remove(scopeOf(caller), id, now))
              ? id
              : yield* notFound
          return { id: removed, deleted: true as const }
        }),
        rotateSecret: Effect.fn("Webhooks.rotateSecret")(function* (given, id) {
          const caller = yield* permit(given, "rotateWebhookSecret")
          const { salt, secret } = yield* secrets.make
          const rotated: WebhookEndpoint = yield* withEndpoint(caller, id, (scope, found) =>
            store.rotate(scope, found, { secretSalt: salt, secretLast4: secret.slice(-4) }),
          )
          return { ...endpointJson(rotated), secret }
        }),
        test: Effect.fn("Webhooks.test")(function* (given, id) {
          const caller = yield* permit(given, "testWebhook")
          const now = yield* Clock.currentTimeMillis
          const ping = eventId(ids)
          const queueing = yield* withEndpoint(caller, id, (scope, found) =>
            store.ping(scope, found, pingEvent(ping, found, now)),
          )
          if (queueing._tag === "Stopped") return yield* refuse("webhook_stopped")
          if (queueing._tag !== "Queued") return yield* notFound
          yield* wakeUp.wake("deliveries")
          return { event_id: ping, type: queueing.type, queued: true as const }
        }),
      })
    }),
  )
}
