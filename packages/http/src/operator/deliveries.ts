/**
 * The delivery logs of webhook endpoints and callbacks (contract: Webhook operations, Callback
 * secret).
 */
import {
  CallbackSecrets,
  DeliveriesQuery,
  EndpointChangeBody,
  PageInput,
  RecoverBody,
  RedeliverBody,
  WebhookOperations,
  callbackTypes,
  described,
  receiverUrlFor,
} from "@messaging-service/core"
import type {
  ChangeWebhook,
  ListDeliveries,
  ListPage,
  RecoverEvents,
  RedeliverEvent,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, json, listOf, page, pageBody, query, pageJson } from "../Entry.ts"
import {
  DeliveryJson,
  EndpointJson,
  QueuedEventJson,
  shownEndpoint,
  shownQueued,
} from "../v2/webhooks.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

/** A line of the delivery log of callbacks (contract: Webhook operations). */
const CallbackDeliveryJson = Schema.Struct({
  ...DeliveryJson.fields,
  type: Schema.Literals(callbackTypes),
  attempt: described(Schema.Int, "From 1."),
  url: described(Schema.String, "Where it was sent; members see it without its query."),
}).annotate({ identifier: "CallbackDelivery" })

const LoggedDeliveryJson = Schema.Struct({
  ...DeliveryJson.fields,
  requestBody: described(
    Schema.NullOr(Schema.String),
    "The event as it was sent; null once it is erased.",
  ),
  responseBody: described(
    Schema.NullOr(Schema.String),
    "The first KiB of the answer, with U+FFFD for U+0000; null without an answer, and where it is not UTF-8.",
  ),
}).annotate({ identifier: "LoggedDelivery" })

const RecoveredJson = Schema.Struct({
  queued: described(Schema.Int, "Events that are delivered again."),
  more: described(Schema.Boolean, "Whether others are left: ask again."),
}).annotate({ identifier: "RecoveredEvents" })

const CallbackSecretJson = Schema.Struct({
  secret: described(Schema.String, "64 hexadecimal characters that sign version 1 callbacks."),
}).annotate({ identifier: "CallbackSecret" })

const route = operatorRoute("Deliveries")

const webhookPath = `${workspacePath}/webhooks/{webhook_id}` as const

const delivery = {
  id: 40,
  event_id: "evt_0123456789abcdefghijABCD",
  type: "message.sent",
  attempt: 1,
  attempted_at: "2030-01-31T07:00:03Z",
  response_status: 200,
  error: null,
  duration_ms: 84,
  next_attempt_at: null,
}

const callbackSecret = { secret: "0123456789abcdef".repeat(4) }

export const deliveryRoutes: ReadonlyArray<OperatorRoute> = [
  route(`GET ${workspacePath}/webhooks`, {
    id: "listWorkspaceWebhooks",
    right: "read",
    summary: "List webhook endpoints",
    about:
      "Oldest first, of live and test keys, including stopped ones. Members see each `url` without its query.",
    success: "The endpoints.",
    answer: listOf(EndpointJson, examples.webhook),
    handler: Effect.fnUntraced(function* listWorkspaceWebhooks({ id, role }) {
      const webhooks = yield* WebhookOperations
      const endpoints = yield* webhooks.list(role, id("id"))
      return {
        data: endpoints.map((endpoint) =>
          shownEndpoint({ ...endpoint, url: receiverUrlFor(role, endpoint.url) }),
        ),
      }
    }),
  }),
  route(`GET ${webhookPath}/deliveries`, {
    id: "listDeliveries",
    right: "read",
    summary: "Read the delivery log",
    about: "Every attempt, newest first.",
    request: query<ListDeliveries>()(DeliveriesQuery),
    success: "A page of attempts.",
    answer: pageBody(DeliveryJson, delivery),
    refused: ["webhook_not_found", "invalid_datetime"],
    handler: Effect.fnUntraced(function* listDeliveries({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return page(yield* webhooks.deliveries(role, id("id"), id("webhook_id"), request))
    }),
  }),
  route(`GET ${webhookPath}/deliveries/{delivery_id}`, {
    id: "getDelivery",
    right: "administrate",
    summary: "Read an attempt with its bodies",
    about: "Bodies are kept for 30 days. Show them as text only: they are the receiver's.",
    success: "The attempt.",
    answer: jsonBody(LoggedDeliveryJson, {
      ...delivery,
      request_body: '{"id":"evt_0123456789abcdefghijABCD","type":"message.sent"}',
      response_body: "ok",
    }),
    refused: ["webhook_not_found", "delivery_not_found"],
    handler: Effect.fnUntraced(function* getDelivery({ id, role }) {
      const webhooks = yield* WebhookOperations
      const { attempt, ...bodies } = yield* webhooks.delivery(
        role,
        id("id"),
        id("webhook_id"),
        id("delivery_id"),
      )
      return { ...attempt, ...bodies }
    }),
  }),
  route(`PATCH ${webhookPath}`, {
    id: "updateWorkspaceWebhook",
    right: "administrate",
    summary: "Change an endpoint",
    about:
      "Its secret stays. Attempts from now on use the new URL; events that wait for delivery stay, whatever their type.",
    request: json<ChangeWebhook>()(EndpointChangeBody, { events: ["message.failed"] }),
    success: "The endpoint as it is now.",
    answer: jsonBody(EndpointJson, { ...examples.webhook, events: ["message.failed"] }),
    refused: ["webhook_not_found", "invalid_webhook_url"],
    handler: Effect.fnUntraced(function* updateWorkspaceWebhook({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return shownEndpoint(yield* webhooks.update(role, id("id"), id("webhook_id"), request))
    }),
  }),
  route(`POST ${webhookPath}/recover`, {
    id: "recoverEvents",
    right: "administrate",
    summary: "Deliver again what an endpoint has missed",
    about:
      "Events since a time, at most 30 days ago, that no attempt has delivered, oldest first, at most 10,000. Each starts a new schedule. What is being delivered is left alone.",
    request: json<RecoverEvents>()(RecoverBody, { since: "2030-01-31T06:00:00Z" }),
    status: 202,
    success: "The events are on their way.",
    answer: jsonBody(RecoveredJson, { queued: 12, more: false }),
    refused: ["webhook_not_found", "webhook_stopped", "invalid_datetime"],
    handler: Effect.fnUntraced(function* recoverEvents({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return yield* webhooks.recover(role, id("id"), id("webhook_id"), request)
    }),
  }),
  route(`POST ${webhookPath}/resume`, {
    id: "resumeWebhook",
    right: "administrate",
    summary: "Resume a stopped endpoint",
    success: "The endpoint, active again.",
    answer: jsonBody(EndpointJson, examples.webhook),
    refused: ["webhook_not_found", "webhook_limit_reached"],
    handler: Effect.fnUntraced(function* resumeWebhook({ id, role }) {
      const webhooks = yield* WebhookOperations
      return shownEndpoint(yield* webhooks.resume(role, id("id"), id("webhook_id")))
    }),
  }),
  route(`POST ${webhookPath}/redeliver`, {
    id: "redeliverEvent",
    right: "administrate",
    summary: "Deliver an event again",
    about: "Starts a new schedule with attempt 1 and the same event id.",
    request: json<RedeliverEvent>()(RedeliverBody, { event_id: delivery.event_id }),
    status: 202,
    success: "The event is on its way.",
    answer: jsonBody(QueuedEventJson, {
      event_id: delivery.event_id,
      type: "message.sent",
      queued: true,
    }),
    refused: ["webhook_not_found", "event_not_found", "webhook_stopped"],
    handler: Effect.fnUntraced(function* redeliverEvent({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return shownQueued(yield* webhooks.redeliver(role, id("id"), id("webhook_id"), request))
    }),
  }),
  route(`GET ${workspacePath}/callbacks/deliveries`, {
    id: "listCallbackDeliveries",
    right: "read",
    summary: "Read the delivery log of version 1 callbacks",
    about: "Every attempt, newest first.",
    request: query<ListPage>()(PageInput),
    success: "A page of attempts.",
    answer: pageBody(CallbackDeliveryJson, { ...delivery, url: "https://example.com/callback" }),
    handler: Effect.fnUntraced(function* listCallbackDeliveries({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      const attempts = yield* webhooks.callbackDeliveries(role, id("id"), request)
      return pageJson(attempts, (attempt) => ({
        ...attempt,
        url: receiverUrlFor(role, attempt.url),
      }))
    }),
  }),
  route(`GET ${workspacePath}/callback-secret`, {
    id: "getCallbackSecret",
    right: "administrate",
    summary: "Read the secret of version 1 callbacks",
    about: "Every workspace has one from its creation.",
    success: "The secret.",
    answer: jsonBody(CallbackSecretJson, callbackSecret),
    handler: Effect.fnUntraced(function* getCallbackSecret({ id, role }) {
      const callbackSecrets = yield* CallbackSecrets
      return yield* callbackSecrets.get(role, id("id"))
    }),
  }),
  route(`POST ${workspacePath}/callback-secret/rotate`, {
    id: "rotateCallbackSecret",
    right: "administrate",
    summary: "Change the secret of version 1 callbacks",
    about: "The old secret stops working at once; attempts in flight still use it.",
    success: "The new secret.",
    answer: jsonBody(CallbackSecretJson, callbackSecret),
    handler: Effect.fnUntraced(function* rotateCallbackSecret({ id, role }) {
      const callbackSecrets = yield* CallbackSecrets
      return yield* callbackSecrets.rotate(role, id("id"))
    }),
  }),
]
