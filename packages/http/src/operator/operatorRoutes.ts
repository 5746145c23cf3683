/** The operations of the operator API (operator API: `/admin/v1`). */
import {
  CallbackSecrets,
  Contacts,
  Keys,
  Numbers,
  ReminderOperations,
  WebhookOperations,
  Workspaces,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { OperatorRoute } from "./OperatorRoute.ts"

const workspacesPath = "/admin/v1/workspaces"
const workspacePath = `${workspacesPath}/{id}`
const webhookPath = `${workspacePath}/webhooks/{webhook_id}`

/** The table, over the core's services. */
export const operatorRoutes = Effect.gen(function* () {
  const workspaces = yield* Workspaces
  const keys = yield* Keys
  const numbers = yield* Numbers
  const contacts = yield* Contacts
  const reminders = yield* ReminderOperations
  const webhooks = yield* WebhookOperations
  const callbackSecrets = yield* CallbackSecrets

  return [
    {
      method: "POST",
      path: workspacesPath,
      takes: "json",
      status: 201,
      handler: ({ role, body }) => workspaces.create(role, body),
    },
    {
      method: "GET",
      path: workspacesPath,
      takes: "query",
      status: 200,
      handler: ({ query }) => workspaces.list(query),
    },
    {
      method: "GET",
      path: workspacePath,
      takes: "nothing",
      status: 200,
      handler: ({ id }) => workspaces.get(id("id")),
    },
    {
      method: "PATCH",
      path: workspacePath,
      takes: "json",
      status: 200,
      handler: ({ role, id, body }) => workspaces.update(role, id("id"), body),
    },
    {
      method: "DELETE",
      path: workspacePath,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => workspaces.delete(role, id("id")),
    },
    {
      method: "POST",
      path: `${workspacePath}/keys`,
      takes: "json",
      status: 201,
      handler: ({ role, id, body }) => keys.create(role, id("id"), body),
    },
    {
      method: "GET",
      path: `${workspacePath}/keys`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => keys.list(role, id("id")),
    },
    {
      method: "DELETE",
      path: `${workspacePath}/keys/{key_id}`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => keys.revoke(role, id("id"), id("key_id")),
    },
    {
      method: "POST",
      path: `${workspacePath}/numbers`,
      takes: "json",
      status: 201,
      handler: ({ role, id, body }) => numbers.create(role, id("id"), body),
    },
    {
      method: "GET",
      path: `${workspacePath}/numbers`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => numbers.list(role, id("id")),
    },
    {
      method: "PATCH",
      path: `${workspacePath}/numbers/{number_id}`,
      takes: "json",
      status: 200,
      handler: ({ role, id, body }) => numbers.update(role, id("id"), id("number_id"), body),
    },
    {
      method: "DELETE",
      path: `${workspacePath}/numbers/{number_id}`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => numbers.remove(role, id("id"), id("number_id")),
    },
    {
      method: "POST",
      path: `${workspacePath}/contacts`,
      takes: "json",
      status: 201,
      handler: ({ role, id, body }) => contacts.create(role, id("id"), body),
    },
    {
      method: "GET",
      path: `${workspacePath}/contacts`,
      takes: "query",
      status: 200,
      handler: ({ role, id, query }) => contacts.list(role, id("id"), query),
    },
    {
      method: "DELETE",
      path: `${workspacePath}/contacts/{contact_id}`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => contacts.delete(role, id("id"), id("contact_id")),
    },
    {
      method: "GET",
      path: `${workspacePath}/webhooks`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => webhooks.list(role, id("id")),
    },
    {
      method: "GET",
      path: `${webhookPath}/deliveries`,
      takes: "query",
      status: 200,
      handler: ({ role, id, query }) =>
        webhooks.deliveries(role, id("id"), id("webhook_id"), query),
    },
    {
      method: "POST",
      path: `${webhookPath}/resume`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => webhooks.resume(role, id("id"), id("webhook_id")),
    },
    {
      method: "POST",
      path: `${webhookPath}/redeliver`,
      takes: "json",
      status: 202,
      handler: ({ role, id, body }) => webhooks.redeliver(role, id("id"), id("webhook_id"), body),
    },
    {
      method: "GET",
      path: `${workspacePath}/callback-secret`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => callbackSecrets.get(role, id("id")),
    },
    {
      method: "POST",
      path: `${workspacePath}/callback-secret/rotate`,
      takes: "nothing",
      status: 200,
      handler: ({ role, id }) => callbackSecrets.rotate(role, id("id")),
    },
    {
      method: "GET",
      path: `${workspacePath}/reminders/{reminder_id}/runs`,
      takes: "query",
      status: 200,
      handler: ({ role, id, query }) => reminders.runs(role, id("id"), id("reminder_id"), query),
    },
  ] as const satisfies ReadonlyArray<OperatorRoute>
})
