/**
 * The delivery logs of webhook endpoints and callbacks (contract: Webhook operations, Callback
 * secret).
 */
import {
  CallbackSecrets,
  PageInput,
  RedeliverBody,
  WebhookOperations,
  callbackTypes,
  described,
} from "@messaging-service/core"
import type { CallbackAttempt, ListPage, RedeliverEvent } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { bodyOf, json, listOf, pageOf, query, pageJson } from "../Entry.ts"
import {
  DeliveryJson,
  EndpointJson,
  QueuedEventJson,
  deliveryJson,
  endpointJson,
  queuedJson,
} from "../v2/webhooks.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

/** A line of the delivery log of callbacks (contract: Webhook operations). */
const CallbackDeliveryJson = Schema.Struct({
  ...DeliveryJson.fields,
  type: Schema.Literals(callbackTypes),
  attempt: described(Schema.Int, "From 1."),
  url: described(Schema.String, "Where it was sent."),
}).annotate({ identifier: "CallbackDelivery" })

const callbackDeliveryJson = (attempt: CallbackAttempt): typeof CallbackDeliveryJson.Type => ({
  ...deliveryJson(attempt),
  url: attempt.url,
})

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
    about: "Oldest first, of live and test keys, including stopped ones.",
    success: "The endpoints.",
    answer: listOf(EndpointJson, examples.webhook),
    handler: Effect.fnUntraced(function* listWorkspaceWebhooks({ id, role }) {
      const webhooks = yield* WebhookOperations
      const endpoints = yield* webhooks.list(role, id("id"))
      return {
        data: endpoints.map(endpointJson),
      }
    }),
  }),
  route(`GET ${webhookPath}/deliveries`, {
    id: "listDeliveries",
    right: "read",
    summary: "Read the delivery log",
    about: "Every attempt, newest first.",
    request: query<ListPage>()(PageInput),
    success: "A page of attempts.",
    answer: pageOf(DeliveryJson, delivery),
    refused: ["webhook_not_found"],
    handler: Effect.fnUntraced(function* listDeliveries({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return pageJson(
        yield* webhooks.deliveries(role, id("id"), id("webhook_id"), request),
        deliveryJson,
      )
    }),
  }),
  route(`POST ${webhookPath}/resume`, {
    id: "resumeWebhook",
    right: "administrate",
    summary: "Resume a stopped endpoint",
    success: "The endpoint, active again.",
    answer: bodyOf(EndpointJson, examples.webhook),
    refused: ["webhook_not_found", "webhook_limit_reached"],
    handler: Effect.fnUntraced(function* resumeWebhook({ id, role }) {
      const webhooks = yield* WebhookOperations
      return endpointJson(yield* webhooks.resume(role, id("id"), id("webhook_id")))
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
    answer: bodyOf(QueuedEventJson, {
      event_id: delivery.event_id,
      type: "message.sent",
      queued: true,
    }),
    refused: ["webhook_not_found", "event_not_found", "webhook_stopped"],
    handler: Effect.fnUntraced(function* redeliverEvent({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return queuedJson(yield* webhooks.redeliver(role, id("id"), id("webhook_id"), request))
    }),
  }),
  route(`GET ${workspacePath}/callbacks/deliveries`, {
    id: "listCallbackDeliveries",
    right: "read",
    summary: "Read the delivery log of version 1 callbacks",
    about: "Every attempt, newest first.",
    request: query<ListPage>()(PageInput),
    success: "A page of attempts.",
    answer: pageOf(CallbackDeliveryJson, { ...delivery, url: "https://example.com/callback" }),
    handler: Effect.fnUntraced(function* listCallbackDeliveries({ id, request, role }) {
      const webhooks = yield* WebhookOperations
      return pageJson(
        yield* webhooks.callbackDeliveries(role, id("id"), request),
        callbackDeliveryJson,
      )
    }),
  }),
  route(`GET ${workspacePath}/callback-secret`, {
    id: "getCallbackSecret",
    right: "administrate",
    summary: "Read the secret of version 1 callbacks",
    about: "Every workspace has one from its creation.",
    success: "The secret.",
    answer: bodyOf(CallbackSecretJson, callbackSecret),
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
    answer: bodyOf(CallbackSecretJson, callbackSecret),
    handler: Effect.fnUntraced(function* rotateCallbackSecret({ id, role }) {
      const callbackSecrets = yield* CallbackSecrets
      return yield* callbackSecrets.rotate(role, id("id"))
    }),
  }),
]
