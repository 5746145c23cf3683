/** Webhook endpoints (contract: Webhook endpoints). */
import {
  EndpointBody,
  Webhooks,
  deliveryErrors,
  described,
  disabledReasons,
  formatInstant,
  instantOrNull,
  webhookEventTypes,
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
import {
  jsonBody,
  deleted,
  DeletedJson,
  json,
  listOf,
  answerJson,
  IdJson,
  TimeJson,
} from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

const deliveryStatus = ({ error, nextAttemptAt }: DeliveryAttempt) => {
  if (error === null) return "delivered"
  return nextAttemptAt === null ? "failed" : "retrying"
}

const EventType = Schema.Literals([...webhookEventTypes, "ping"])

const eventId = described(Schema.String, "`evt_` and 24 characters.")

const attemptFields = {
  event_id: eventId,
  type: EventType,
  attempt: described(Schema.Int, "From 1; starts again for each redelivery."),
  attempted_at: TimeJson,
  response_status: described(Schema.NullOr(Schema.Int), "Null without an answer."),
  error: described(Schema.NullOr(Schema.Literals(deliveryErrors)), "Null when it was delivered."),
  next_attempt_at: described(Schema.NullOr(TimeJson), "Null when there is no further attempt."),
}

const LastDeliveryJson = Schema.Struct({
  ...attemptFields,
  status: Schema.Literals(["delivered", "retrying", "failed"]),
}).annotate({ identifier: "LastDelivery" })

export const EndpointJson = Schema.Struct({
  id: IdJson,
  url: Schema.String,
  description: Schema.String,
  events: Schema.Array(Schema.Literals(webhookEventTypes)),
  secret_last4: described(Schema.String, "Last four characters of the signing secret."),
  active: described(Schema.Boolean, "False for a stopped endpoint."),
  disabled_reason: described(Schema.NullOr(Schema.Literals(disabledReasons)), "Why it stopped."),
  created_at: TimeJson,
  last_delivery: described(Schema.NullOr(LastDeliveryJson), "Outcome of the latest attempt."),
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
  ...attemptFields,
  duration_ms: Schema.Int,
}).annotate({ identifier: "Delivery" })

const lastDeliveryJson = (attempt: DeliveryAttempt): typeof LastDeliveryJson.Type => ({
  event_id: attempt.eventId,
  type: attempt.type,
  status: deliveryStatus(attempt),
  attempt: attempt.attempt,
  response_status: attempt.responseStatus,
  error: attempt.error,
  attempted_at: formatInstant(attempt.attemptedAt),
  next_attempt_at: instantOrNull(attempt.nextAttemptAt),
})

/** The endpoint without its secret: only creation and rotation show that. */
export const endpointJson = (endpoint: WebhookEndpoint): typeof EndpointJson.Type => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description,
  events: endpoint.events,
  secret_last4: endpoint.secretLast4,
  active: endpoint.disabledReason === null,
  disabled_reason: endpoint.disabledReason,
  created_at: formatInstant(endpoint.createdAt),
  last_delivery: endpoint.lastAttempt === null ? null : lastDeliveryJson(endpoint.lastAttempt),
})

const withSecret = (endpoint: EndpointWithSecret): typeof EndpointWithSecretJson.Type => ({
  ...endpointJson(endpoint),
  secret: endpoint.secret,
})

/** A line of the delivery log, of endpoints and of callbacks. */
export const deliveryJson = <Type extends string>(attempt: DeliveryAttempt<Type>) => ({
  id: attempt.id,
  event_id: attempt.eventId,
  type: attempt.type,
  attempt: attempt.attempt,
  attempted_at: formatInstant(attempt.attemptedAt),
  response_status: attempt.responseStatus,
  error: attempt.error,
  duration_ms: attempt.durationMillis,
  next_attempt_at: instantOrNull(attempt.nextAttemptAt),
})

/** An event in flight to an endpoint. */
export const QueuedEventJson = Schema.Struct({
  event_id: eventId,
  type: EventType,
  queued: Schema.Literal(true),
}).annotate({ identifier: "QueuedEvent" })

export const queuedJson = ({ id, type }: QueuedEvent): typeof QueuedEventJson.Type => ({
  event_id: id,
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
        "secret" in created ? withSecret(created) : endpointJson(created),
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
      return { data: endpoints.map(endpointJson) }
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
      return endpointJson(yield* webhooks.get(caller, id("id")))
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
      return queuedJson(yield* webhooks.test(caller, id("id")))
    }),
  }),
]
