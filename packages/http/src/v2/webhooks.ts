/** Webhook endpoints (contract: Webhook endpoints). */
import {
  EndpointBody,
  Webhooks,
  deliveryErrors,
  described,
  disabledReasons,
  eventTypes,
} from "@messaging-service/core"
import type {
  CreateWebhook,
  DeliveryAttempt,
  EndpointWithSecret,
  QueuedEvent,
  WebhookEndpoint,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, deleted, DeletedJson, json, listOf, answerJson, IdJson, Time } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

const deliveryStatus = ({ error, nextAttemptAt }: DeliveryAttempt) => {
  if (error === null) return "delivered"
  return nextAttemptAt === null ? "failed" : "retrying"
}

const EventType = Schema.Literals([...eventTypes, "ping"])

const eventId = described(Schema.String, "`evt_` and 24 characters.")

const attempt = described(Schema.Int, "From 1; starts again for each redelivery.")

const outcome = {
  responseStatus: described(
    Schema.NullOr(Schema.Int),
    "HTTP status of the response; null without one.",
  ),
  error: described(Schema.NullOr(Schema.Literals(deliveryErrors)), "Null when it was delivered."),
}

const nextAttemptAt = described(
  Schema.NullOr(Time),
  "When the next attempt comes; null without one.",
)

const LastDeliveryJson = Schema.Struct({
  eventId,
  type: EventType,
  status: Schema.Literals(["delivered", "retrying", "failed"]),
  attempt,
  ...outcome,
  attemptedAt: Time,
  nextAttemptAt,
}).annotate({ identifier: "LastDelivery" })

export const EndpointJson = Schema.Struct({
  id: IdJson,
  url: Schema.String,
  description: Schema.String,
  events: Schema.Array(Schema.Literals(eventTypes)),
  secretLast4: described(Schema.String, "Last four characters of the signing secret."),
  active: described(Schema.Boolean, "False for a stopped endpoint."),
  disabledReason: described(
    Schema.NullOr(Schema.Literals(disabledReasons)),
    "Why it stopped; null while it runs.",
  ),
  createdAt: Time,
  lastDelivery: described(Schema.NullOr(LastDeliveryJson), "Outcome of the latest attempt."),
}).annotate({ identifier: "Webhook" })

/** The answer to a creation and to a change of the secret. */
const EndpointWithSecretJson = Schema.Struct({
  ...EndpointJson.fields,
  secret: described(
    Schema.String,
    "64 hexadecimal characters that sign deliveries, shown only here.",
  ),
}).annotate({ identifier: "WebhookWithSecret" })

/** A line of the delivery log (contract: Webhook operations). */
export const DeliveryJson = Schema.Struct({
  id: IdJson,
  eventId,
  type: EventType,
  attempt,
  attemptedAt: Time,
  ...outcome,
  durationMillis: Schema.Int,
  nextAttemptAt,
}).annotate({ identifier: "Delivery" })

/** The endpoint without its secret: only creation and rotation show that. */
export const shownEndpoint = (endpoint: WebhookEndpoint): typeof EndpointJson.Type => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description,
  events: endpoint.events,
  secretLast4: endpoint.secretLast4,
  active: endpoint.disabledReason === null,
  disabledReason: endpoint.disabledReason,
  createdAt: endpoint.createdAt,
  lastDelivery: endpoint.lastAttempt && {
    ...endpoint.lastAttempt,
    status: deliveryStatus(endpoint.lastAttempt),
  },
})

const withSecret = (endpoint: EndpointWithSecret): typeof EndpointWithSecretJson.Type => ({
  ...shownEndpoint(endpoint),
  secret: endpoint.secret,
})

/** An event in flight to an endpoint. */
export const QueuedEventJson = Schema.Struct({
  eventId: eventId,
  type: EventType,
  queued: Schema.Literal(true),
}).annotate({ identifier: "QueuedEvent" })

export const shownQueued = ({ id, type }: QueuedEvent): typeof QueuedEventJson.Type => ({
  eventId: id,
  type,
  queued: true,
})

const route = routeV2("Webhooks")

export const webhookRoutes: ReadonlyArray<RouteV2> = [
  route("POST /api/v2/webhooks", {
    idempotent: true,
    id: "createWebhook",
    summary: "Create a webhook endpoint",
    about: "A workspace has at most 5 active endpoints. The secret is shown only now.",
    request: json<CreateWebhook>()(EndpointBody, { url: "https://shop.example.com/events" }),
    status: 201,
    success: "The endpoint with its secret; a repeat with the same `Idempotency-Key` omits it.",
    answer: jsonBody(Schema.Union([EndpointWithSecretJson, EndpointJson]), examples.newWebhook),
    refused: ["webhook_limit_reached", "invalid_webhook_url"],
    handler: Effect.fnUntraced(function* createWebhook({ caller, idempotency, request }) {
      const webhooks = yield* Webhooks
      return answerJson(yield* webhooks.create(caller, request, idempotency), (created) =>
        "secret" in created ? withSecret(created) : shownEndpoint(created),
      )
    }),
  }),
  route("GET /api/v2/webhooks", {
    id: "listWebhooks",
    summary: "List webhook endpoints",
    about: "Active ones, oldest first.",
    success: "The endpoints.",
    answer: listOf(EndpointJson, examples.webhook),
    handler: Effect.fnUntraced(function* listWebhooks({ caller }) {
      const webhooks = yield* Webhooks
      const endpoints = yield* webhooks.list(caller)
      return { data: endpoints.map(shownEndpoint) }
    }),
  }),
  route("GET /api/v2/webhooks/{id}", {
    id: "getWebhook",
    summary: "Read a webhook endpoint",
    success: "The endpoint, active or stopped.",
    answer: jsonBody(EndpointJson, examples.webhook),
    refused: ["webhook_not_found"],
    handler: Effect.fnUntraced(function* getWebhook({ caller, id }) {
      const webhooks = yield* Webhooks
      return shownEndpoint(yield* webhooks.get(caller, id("id")))
    }),
  }),
  route("DELETE /api/v2/webhooks/{id}", {
    id: "deleteWebhook",
    summary: "Delete a webhook endpoint",
    success: "The service sends nothing more to it, including repeats.",
    answer: jsonBody(DeletedJson, deleted(3)),
    refused: ["webhook_not_found"],
    handler: Effect.fnUntraced(function* deleteWebhook({ caller, id }) {
      const webhooks = yield* Webhooks
      return deleted(yield* webhooks.remove(caller, id("id")))
    }),
  }),
  route("POST /api/v2/webhooks/{id}/rotate-secret", {
    id: "rotateWebhookSecret",
    summary: "Replace the signing secret",
    about: "The old secret stops working at once, also for repeats of earlier events.",
    success: "The endpoint with its new secret.",
    answer: jsonBody(EndpointWithSecretJson, examples.newWebhook),
    refused: ["webhook_not_found"],
    handler: Effect.fnUntraced(function* rotateWebhookSecret({ caller, id }) {
      const webhooks = yield* Webhooks
      return withSecret(yield* webhooks.rotateSecret(caller, id("id")))
    }),
  }),
  route("POST /api/v2/webhooks/{id}/test", {
    id: "testWebhook",
    summary: "Send a ping",
    status: 202,
    success: "A `ping` is on its way.",
    answer: jsonBody(QueuedEventJson, {
      event_id: "evt_0123456789abcdefghijABCD",
      type: "ping",
      queued: true,
    }),
    refused: ["webhook_not_found", "webhook_stopped"],
    handler: Effect.fnUntraced(function* testWebhook({ caller, id }) {
      const webhooks = yield* Webhooks
      return shownQueued(yield* webhooks.test(caller, id("id")))
    }),
  }),
]
