/** The operations of version 2 (contract: Endpoints). */
import {
  Connections,
  MediaDirectory,
  Messages,
  NumberChecks,
  Reminders,
  Webhooks,
  keyInfo,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { RouteV2 } from "./RouteV2.ts"

/** What the operations on webhook endpoints have in common; one of them is idempotent. */
const ofWebhooks = { scope: "messages:read", unlimitedOnly: true, idempotent: false } as const

/** The table, over the core's services. */
export const routesV2 = Effect.gen(function* () {
  const messages = yield* Messages
  const connections = yield* Connections
  const media = yield* MediaDirectory
  const numberChecks = yield* NumberChecks
  const reminders = yield* Reminders
  const webhooks = yield* Webhooks

  return [
    {
      method: "GET",
      path: "/api/v2/me",
      scope: null,
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller }) => Effect.succeed({ body: keyInfo(caller) }),
    },
    {
      method: "GET",
      path: "/api/v2/messages",
      scope: "messages:read",
      idempotent: false,
      takes: "query",
      status: 200,
      handler: ({ caller, query }) =>
        Effect.map(messages.list(caller, query), (page) => ({ body: page })),
    },
    {
      method: "POST",
      path: "/api/v2/messages",
      scope: "messages:send",
      idempotent: true,
      takes: "json",
      status: 202,
      handler: ({ caller, body, idempotency }) =>
        Effect.map(messages.send(caller, body, idempotency), (sent) => ({
          body: sent.messages[0],
          replayed: sent.replayed,
        })),
    },
    {
      method: "POST",
      path: "/api/v2/messages/batch",
      scope: "messages:send",
      idempotent: true,
      takes: "json",
      status: 202,
      handler: ({ caller, body, idempotency }) =>
        Effect.map(messages.sendBatch(caller, body, idempotency), (sent) => ({
          body: { data: sent.messages },
          replayed: sent.replayed,
        })),
    },
    {
      method: "GET",
      path: "/api/v2/messages/{id}",
      scope: "messages:read",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(messages.get(caller, id("id")), (message) => ({ body: message })),
    },
    {
      method: "DELETE",
      path: "/api/v2/messages/{id}",
      scope: "messages:send",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(messages.cancel(caller, id("id")), (message) => ({ body: message })),
    },
    {
      method: "GET",
      path: "/api/v2/numbers",
      scope: "numbers",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller }) => Effect.map(connections.list(caller), (list) => ({ body: list })),
    },
    {
      method: "GET",
      path: "/api/v2/numbers/{id}",
      scope: "numbers",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(connections.get(caller, id("id")), (number) => ({ body: number })),
    },
    {
      method: "POST",
      path: "/api/v2/numbers",
      scope: "numbers",
      idempotent: true,
      takes: "json",
      status: 202,
      handler: ({ caller, body, idempotency }) =>
        Effect.map(connections.connect(caller, body, idempotency), ({ answer, replayed }) => ({
          body: answer,
          replayed,
        })),
    },
    {
      method: "POST",
      path: "/api/v2/reminders",
      scope: "reminders",
      idempotent: true,
      takes: "json",
      status: 201,
      handler: ({ caller, body, idempotency }) =>
        Effect.map(reminders.create(caller, body, idempotency), ({ answer, replayed }) => ({
          body: answer,
          replayed,
        })),
    },
    {
      method: "GET",
      path: "/api/v2/reminders",
      scope: "reminders",
      idempotent: false,
      takes: "query",
      status: 200,
      handler: ({ caller, query }) =>
        Effect.map(reminders.list(caller, query), (page) => ({ body: page })),
    },
    {
      method: "GET",
      path: "/api/v2/reminders/{id}",
      scope: "reminders",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(reminders.get(caller, id("id")), (reminder) => ({ body: reminder })),
    },
    {
      method: "PATCH",
      path: "/api/v2/reminders/{id}",
      scope: "reminders",
      idempotent: false,
      takes: "json",
      status: 200,
      handler: ({ caller, id, body }) =>
        Effect.map(reminders.update(caller, id("id"), body), (reminder) => ({ body: reminder })),
    },
    {
      method: "DELETE",
      path: "/api/v2/reminders/{id}",
      scope: "reminders",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(reminders.remove(caller, id("id")), (deleted) => ({ body: deleted })),
    },
    {
      method: "POST",
      path: "/api/v2/media",
      scope: "media",
      idempotent: true,
      takes: "file",
      status: 201,
      handler: ({ caller, upload, idempotency }) =>
        Effect.map(media.upload(caller, upload, idempotency), ({ answer, replayed }) => ({
          body: answer,
          replayed,
        })),
    },
    {
      method: "GET",
      path: "/api/v2/media",
      scope: "media",
      idempotent: false,
      takes: "query",
      status: 200,
      handler: ({ caller, query }) =>
        Effect.map(media.list(caller, query), (page) => ({ body: page })),
    },
    {
      method: "GET",
      path: "/api/v2/media/{id}",
      scope: "media",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(media.get(caller, id("id")), (file) => ({ body: file })),
    },
    {
      method: "DELETE",
      path: "/api/v2/media/{id}",
      scope: "media",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(media.delete(caller, id("id")), (deleted) => ({ body: deleted })),
    },
    {
      method: "POST",
      path: "/api/v2/number-checks",
      scope: "contacts",
      idempotent: true,
      takes: "json",
      status: 202,
      handler: ({ caller, body, idempotency }) =>
        Effect.map(numberChecks.create(caller, body, idempotency), ({ answer, replayed }) => ({
          body: answer,
          replayed,
        })),
    },
    {
      method: "GET",
      path: "/api/v2/number-checks",
      scope: "contacts",
      idempotent: false,
      takes: "query",
      status: 200,
      handler: ({ caller, query }) =>
        Effect.map(numberChecks.list(caller, query), (page) => ({ body: page })),
    },
    {
      method: "GET",
      path: "/api/v2/number-checks/{id}",
      scope: "contacts",
      idempotent: false,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(numberChecks.get(caller, id("id")), (check) => ({ body: check })),
    },
    {
      method: "GET",
      path: "/api/v2/number-checks/{id}/results",
      scope: "contacts",
      idempotent: false,
      takes: "query",
      status: 200,
      handler: ({ caller, id, query }) =>
        Effect.map(numberChecks.results(caller, id("id"), query), (page) => ({ body: page })),
    },
    {
      method: "POST",
      path: "/api/v2/webhooks",
      ...ofWebhooks,
      idempotent: true,
      takes: "json",
      status: 201,
      handler: ({ caller, body, idempotency }) =>
        Effect.map(webhooks.create(caller, body, idempotency), ({ answer, replayed }) => ({
          body: answer,
          replayed,
        })),
    },
    {
      method: "GET",
      path: "/api/v2/webhooks",
      ...ofWebhooks,
      takes: "nothing",
      status: 200,
      handler: ({ caller }) => Effect.map(webhooks.list(caller), (list) => ({ body: list })),
    },
    {
      method: "GET",
      path: "/api/v2/webhooks/{id}",
      ...ofWebhooks,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(webhooks.get(caller, id("id")), (endpoint) => ({ body: endpoint })),
    },
    {
      method: "DELETE",
      path: "/api/v2/webhooks/{id}",
      ...ofWebhooks,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(webhooks.remove(caller, id("id")), (removed) => ({ body: removed })),
    },
    {
      method: "POST",
      path: "/api/v2/webhooks/{id}/rotate-secret",
      ...ofWebhooks,
      takes: "nothing",
      status: 200,
      handler: ({ caller, id }) =>
        Effect.map(webhooks.rotateSecret(caller, id("id")), (endpoint) => ({ body: endpoint })),
    },
    {
      method: "POST",
      path: "/api/v2/webhooks/{id}/test",
      ...ofWebhooks,
      takes: "nothing",
      status: 202,
      handler: ({ caller, id }) =>
        Effect.map(webhooks.test(caller, id("id")), (queued) => ({ body: queued })),
    },
  ] as const satisfies ReadonlyArray<RouteV2>
})
