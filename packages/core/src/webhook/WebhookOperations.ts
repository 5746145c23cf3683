/**
 * What the operator sees of webhook endpoints and callbacks, and can do about the former (contract:
 * Webhook operations).
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { callbackDeliveryJson } from "../callback/Callback.ts"
import type { CallbackDeliveryJson } from "../callback/Callback.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { EventId, WebhookId, WorkspaceId } from "../id/Ids.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { Cursors } from "../request/Cursor.ts"
import { described } from "../request/Described.ts"
import { inputDecoder } from "../request/Input.ts"
import type { JsonPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { requireRole } from "../workspace/Role.ts"
import type { Role } from "../workspace/Role.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { deliveryJson, endpointJson, endpointLimit } from "./WebhookEndpoint.ts"
import type { DeliveryJson, EndpointJson } from "./WebhookEndpoint.ts"
import type { QueuedEvent } from "./Webhooks.ts"
import { WebhookStore } from "./WebhookStore.ts"
import type { WebhookScope } from "./WebhookStore.ts"

export const RedeliverBody = Schema.Struct({
  event_id: described(Schema.String, "Of an event that was sent to this endpoint."),
}).annotate({ identifier: "RedeliverEvent" })

const decodeRedeliver = inputDecoder(RedeliverBody, ["event_id"])

type Failure = Refusal | StoreUnavailable

export class WebhookOperations extends Context.Service<
  WebhookOperations,
  {
    /** GET /workspaces/{id}/webhooks: of both modes, stopped ones included, oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<{ readonly data: ReadonlyArray<EndpointJson> }, Failure>
    /** GET …/webhooks/{webhook_id}/deliveries: the attempts, newest first. */
    deliveries(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      query: QueryEntries,
    ): Effect.Effect<JsonPage<DeliveryJson>, Failure>
    /** GET /workspaces/{id}/callbacks/deliveries: the attempts, newest first. */
    callbackDeliveries(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: QueryEntries,
    ): Effect.Effect<JsonPage<CallbackDeliveryJson>, Failure>
    /**
     * POST …/webhooks/{webhook_id}/resume: a stopped endpoint runs again. Fails with
     * `webhook_limit_reached` when the workspace runs as many as it may without it.
     */
    resume(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
    ): Effect.Effect<EndpointJson, Failure>
    /**
     * POST …/webhooks/{webhook_id}/redeliver: that event once more, on a new schedule. Fails with
     * `event_not_found`, `webhook_stopped`.
     */
    redeliver(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      body: unknown,
    ): Effect.Effect<QueuedEvent, Failure>
  }
>()("core/WebhookOperations") {
  static readonly layer = Layer.effect(
    WebhookOperations,
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const workspaces = yield* Workspaces
      const cursors = yield* Cursors
      const wakeUp = yield* WakeUp
      const notFound = refuse("webhook_not_found")

      const scopeIn = (role: Role, workspaceId: WorkspaceId | undefined) =>
        Effect.gen(function* () {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "webhooks")
          const scope: WebhookScope = { workspaceId: workspace.id, mode: null }
          return scope
        })

      const find = (scope: WebhookScope, id: WebhookId | undefined) =>
        Effect.gen(function* () {
          const found = id === undefined ? null : yield* store.get(scope, id)
          return found ?? (yield* notFound)
        })

      return WebhookOperations.of({
        list: Effect.fn("WebhookOperations.list")(function* (role, workspaceId) {
          const scope = yield* scopeIn(role, workspaceId)
          return { data: (yield* store.list(scope, true)).map(endpointJson) }
        }),
        deliveries: Effect.fn("WebhookOperations.deliveries")(
          function* (role, workspaceId, id, query) {
            const request = yield* Effect.fromResult(parsePageRequest(query))
            const endpoint = yield* find(yield* scopeIn(role, workspaceId), id)
            const binding = ["deliveries", endpoint.id]
            const before = yield* cursors.read(request.cursor, binding)
            const page = yield* store.attempts(endpoint.id, { before, limit: request.limit })
            return {
              data: page.items.map(deliveryJson),
              next_cursor: cursors.make(page.next, binding),
            }
          },
        ),
        callbackDeliveries: Effect.fn("WebhookOperations.callbackDeliveries")(
          function* (role, workspaceId, query) {
            const request = yield* Effect.fromResult(parsePageRequest(query))
            const scope = yield* scopeIn(role, workspaceId)
            const binding = ["callback deliveries", scope.workspaceId]
            const before = yield* cursors.read(request.cursor, binding)
            const page = yield* store.callbackAttempts(scope.workspaceId, {
              before,
              limit: request.limit,
            })
            return {
              data: page.items.map(callbackDeliveryJson),
              next_cursor: cursors.make(page.next, binding),
            }
          },
        ),
        resume: Effect.fn("WebhookOperations.resume")(function* (role, workspaceId, id) {
          const scope = yield* scopeIn(role, workspaceId)
          const now = yield* Clock.currentTimeMillis
          const resumed =
            id === undefined ? null : yield* store.resume(scope, id, endpointLimit, now)
          if (resumed === "limit") return yield* refuse("webhook_limit_reached")
          return endpointJson(resumed ?? (yield* notFound))
        }),
        redeliver: Effect.fn("WebhookOperations.redeliver")(
          function* (role, workspaceId, id, body) {
            const scope = yield* scopeIn(role, workspaceId)
            const endpoint = yield* find(scope, id)
            const input = yield* Effect.fromResult(decodeRedeliver(body))
            const event = input.event_id as EventId
            const now = yield* Clock.currentTimeMillis
            const queueing = yield* store.redeliver(scope, endpoint.id, event, now)
            switch (queueing._tag) {
              case "Queued":
                yield* wakeUp.wake("deliveries")
                return { event_id: event, type: queueing.type, queued: true as const }
              case "Stopped":
                return yield* refuse("webhook_stopped")
              case "NoEvent":
                return yield* refuse("event_not_found")
              case "NoEndpoint":
                return yield* notFound
            }
          },
        ),
      })
    }),
  )
}
