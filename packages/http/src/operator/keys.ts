/** Keys of a workspace (contract: Keys). */
import {
  KeyBody,
  KeyJson,
  Keys,
  NewKeyJson,
  RevokedKeyJson,
  listJson,
} from "@messaging-service/core"
import { Effect } from "effect"
import { listOf } from "../openapi/examples.ts"
import { asGiven, json } from "../route/Entry.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

const tag = "Keys"

const example = {
  id: 9,
  version: 2,
  name: "Shop",
  mode: "live",
  scopes: ["messages:send", "messages:read"],
  limited_to_numbers: false,
  number_ids: [],
  expires_at: null,
  last4: "Qx7z",
  created_at: "2030-01-31T07:00:00Z",
  last_used_at: null,
  last_used_ip: null,
  revoked_at: null,
}

export const keyRoutes = Effect.gen(function* () {
  const keys = yield* Keys

  return [
    operatorRoute({
      method: "POST",
      path: `${workspacePath}/keys`,
      id: "createKey",
      tag,
      summary: "Create a key",
      about: "At most 10 keys of a version that are not revoked.",
      request: json(KeyBody, { version: 2, name: "Shop", scopes: "all" }, asGiven),
      status: 201,
      success: "The key, whole; it is shown only now.",
      answer: NewKeyJson,
      example: { ...example, key: `svc_live_${"x".repeat(34)}Qx7z` },
      refused: ["workspace_not_found", "role_required", "key_limit_reached", "number_not_found"],
      handler: ({ id, request, role }) => keys.create(role, id("id"), request),
    }),
    operatorRoute({
      method: "GET",
      path: `${workspacePath}/keys`,
      id: "listKeys",
      tag,
      summary: "List keys",
      about: "Oldest first, revoked ones included; those that the acting role may see.",
      success: "The keys.",
      answer: listJson(KeyJson),
      example: listOf(example),
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, role }) => keys.list(role, id("id")),
    }),
    operatorRoute({
      method: "DELETE",
      path: `${workspacePath}/keys/{key_id}`,
      id: "revokeKey",
      tag,
      summary: "Revoke a key",
      about:
        "A version 2 key is revoked, with the webhook endpoints it made; a version 1 key is deleted.",
      success: "The key works no more.",
      answer: RevokedKeyJson,
      example: { id: 9, revoked: true },
      refused: ["workspace_not_found", "role_required", "key_not_found"],
      handler: ({ id, role }) => keys.revoke(role, id("id"), id("key_id")),
    }),
  ]
})
