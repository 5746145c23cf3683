/** Keys of a workspace (contract: Keys). */
import {
  IdJson,
  KeyBody,
  Keys,
  TimeJson,
  described,
  formatInstant,
  instantOrNull,
} from "@messaging-service/core"
import type { ApiKey, CreateKey } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { DeletedJson, asCommand, bodyOf, deleted, json, listOf } from "../route/Entry.ts"
import { keyFields, keyFieldsOf } from "../v2/me.ts"
import { operatorRoute, workspacePath } from "./OperatorRoute.ts"

const KeyJson = Schema.Struct({
  id: IdJson,
  version: Schema.Literals([1, 2]),
  ...keyFields,
  expires_at: described(Schema.NullOr(TimeJson), "Null: never."),
  last4: described(Schema.String, "Last four characters of the key."),
  created_at: TimeJson,
  last_used_at: Schema.NullOr(TimeJson),
  last_used_ip: Schema.NullOr(Schema.String),
  revoked_at: Schema.NullOr(TimeJson),
}).annotate({ identifier: "Key" })

/** The answer to a key's creation. */
const NewKeyJson = Schema.Struct({
  ...KeyJson.fields,
  key: described(Schema.String, "The whole key; shown only here."),
}).annotate({ identifier: "NewKey" })

/** The answer to a key's revocation: version 1 keys are deleted. */
const RevokedKeyJson = Schema.Union([
  Schema.Struct({ id: IdJson, revoked: Schema.Literal(true) }),
  DeletedJson,
]).annotate({ identifier: "RevokedKey" })

const keyJson = (key: ApiKey): typeof KeyJson.Type => ({
  id: key.id,
  version: key.version,
  ...keyFieldsOf(key),
  last4: key.last4,
  created_at: formatInstant(key.createdAt),
  last_used_at: instantOrNull(key.lastUsedAt),
  last_used_ip: key.lastUsedIp,
  revoked_at: instantOrNull(key.revokedAt),
})

const revokedJson = ({ id, version }: ApiKey): typeof RevokedKeyJson.Type =>
  version === 1 ? deleted(id) : { id, revoked: true }

const route = operatorRoute("Keys")

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
    route(`POST ${workspacePath}/keys`, {
      id: "createKey",
      summary: "Create a key",
      about: "At most 10 keys of a version that are not revoked.",
      request: json(KeyBody, { version: 2, name: "Shop", scopes: "all" }, asCommand<CreateKey>),
      status: 201,
      success: "The key, whole; it is shown only now.",
      answer: bodyOf(NewKeyJson, { ...example, key: `svc_live_${"x".repeat(34)}Qx7z` }),
      refused: ["key_limit_reached", "number_not_found"],
      handler: ({ id, request, role }) =>
        Effect.map(keys.create(role, id("id"), request), ({ key, record }) => ({
          ...keyJson(record),
          key,
        })),
    }),
    route(`GET ${workspacePath}/keys`, {
      id: "listKeys",
      summary: "List keys",
      about: "Oldest first, revoked ones included; those that the acting role may see.",
      success: "The keys.",
      answer: listOf(KeyJson, example),
      handler: ({ id, role }) =>
        Effect.map(keys.list(role, id("id")), (all) => ({ data: all.map(keyJson) })),
    }),
    route(`DELETE ${workspacePath}/keys/{key_id}`, {
      id: "revokeKey",
      summary: "Revoke a key",
      about:
        "A version 2 key is revoked, with the webhook endpoints it made; a version 1 key is deleted.",
      success: "The key works no more.",
      answer: bodyOf(RevokedKeyJson, { id: 9, revoked: true }),
      refused: ["key_not_found"],
      handler: ({ id, role }) => Effect.map(keys.revoke(role, id("id"), id("key_id")), revokedJson),
    }),
  ]
})
