/** Webhook endpoints (contract: Webhook endpoints). */
import {
  DeletedJson,
  EndpointBody,
  EndpointJson,
  EndpointWithSecret,
  QueuedEvent,
  Webhooks,
  listJson,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples, listOf } from "../openapi/examples.ts"
import { asGiven, json } from "../route/Entry.ts"
import { routeV2 } from "./RouteV2.ts"

const common = { tag: "Webhooks" } as const

export const webhookRoutes = Effect.gen(function* () {
  const webhooks = yield* Webhooks

  return [
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/webhooks",
      idempotent: true,
      id: "createWebhook",
      summary: "Create a webhook endpoint",
      about: "At most 5 run in a workspace. The secret is shown only now.",
      request: json(EndpointBody, { url: "https://shop.example.com/events" }, asGiven),
      status: 201,
      success: "The endpoint with its secret; a repeat with the same `Idempotency-Key` omits it.",
      answer: Schema.Union([EndpointWithSecret, EndpointJson]),
      example: examples.newWebhook,
      refused: ["webhook_limit_reached", "invalid_webhook_url"],
      handler: ({ caller, idempotency, request }) => webhooks.create(caller, request, idempotency),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/webhooks",
      id: "listWebhooks",
      summary: "List webhook endpoints",
      about: "Those that run, oldest first.",
      success: "The endpoints.",
      answer: listJson(EndpointJson),
      example: listOf(examples.webhook),
      handler: ({ caller }) => webhooks.list(caller),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/webhooks/{id}",
      id: "getWebhook",
      summary: "Read a webhook endpoint",
      success: "The endpoint; a stopped one too.",
      answer: EndpointJson,
      example: examples.webhook,
      refused: ["webhook_not_found"],
      handler: ({ caller, id }) => webhooks.get(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "DELETE",
      path: "/api/v2/webhooks/{id}",
      id: "deleteWebhook",
      summary: "Delete a webhook endpoint",
      success: "Nothing more is sent to it, repeats included.",
      answer: DeletedJson,
      example: { id: 3, deleted: true },
      refused: ["webhook_not_found"],
      handler: ({ caller, id }) => webhooks.remove(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/webhooks/{id}/rotate-secret",
      id: "rotateWebhookSecret",
      summary: "Replace the signing secret",
      about: "The old secret stops working at once, for repeats of earlier events too.",
      success: "The endpoint with its new secret.",
      answer: EndpointWithSecret,
      example: examples.newWebhook,
      refused: ["webhook_not_found"],
      handler: ({ caller, id }) => webhooks.rotateSecret(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/webhooks/{id}/test",
      id: "testWebhook",
      summary: "Send a ping",
      status: 202,
      success: "A `ping` is on its way.",
      answer: QueuedEvent,
      example: { event_id: "evt_0123456789abcdefghijABCD", type: "ping", queued: true },
      refused: ["webhook_not_found", "webhook_stopped"],
      handler: ({ caller, id }) => webhooks.test(caller, id("id")),
    }),
  ]
})
