/** A key's properties and permissions (contract: Key info). */
import {
  dailyQuota,
  described,
  instantOrNull,
  messagesRemaining,
  requestsPerDay,
  requestsPerMinute,
  scopes,
} from "@messaging-service/core"
import type { ApiKey, KeyCaller } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, IdJson, TimeJson } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"

/** What a key shows to itself and to the operator. */
export const keyFields = {
  name: Schema.String,
  mode: Schema.Literals(["live", "test"]),
  scopes: Schema.Array(Schema.Literals(scopes)),
  limited_to_numbers: Schema.Boolean,
  number_ids: described(Schema.Array(IdJson), "Empty unless the key is limited to some numbers."),
}

export const toKeyFields = ({ expiresAt, mode, name, numberIds, scopes: granted }: ApiKey) => ({
  name,
  mode,
  scopes: granted,
  limited_to_numbers: numberIds !== null,
  number_ids: numberIds ?? [],
  expires_at: instantOrNull(expiresAt),
})

const KeyInfo = Schema.Struct({
  workspace: Schema.Struct({ id: IdJson, name: Schema.String }),
  key: Schema.Struct({ id: IdJson, ...keyFields, expires_at: Schema.NullOr(TimeJson) }),
  plan: described(
    Schema.NullOr(Schema.Struct({ name: Schema.String })),
    "Null when the workspace has no active plan.",
  ),
  limits: Schema.Struct({
    requests_per_minute: Schema.Int,
    requests_per_day: Schema.Int,
    messages_per_number_per_day: Schema.Int,
    messages_remaining: described(
      Schema.NullOr(Schema.Int),
      "Null when the plan allows unlimited messages.",
    ),
  }),
}).annotate({ identifier: "KeyInfo" })

export const keyInfo = ({
  key,
  workspace,
}: Pick<KeyCaller, "key" | "workspace">): typeof KeyInfo.Type => ({
  workspace: { id: workspace.id, name: workspace.name },
  key: { id: key.id, ...toKeyFields(key) },
  plan: workspace.plan && { name: workspace.plan.name },
  limits: {
    requests_per_minute: requestsPerMinute,
    requests_per_day: requestsPerDay,
    messages_per_number_per_day: dailyQuota.messages,
    messages_remaining: messagesRemaining(workspace.plan),
  },
})

export const meRoute = routeV2("Account")("GET /api/v2/me", {
  id: "getKeyInfo",
  summary: "Check the key",
  about: "Tells what the key is and may do. Sends nothing.",
  success: "What the key is and may do.",
  answer: jsonBody(KeyInfo, examples.keyInfo),
  handler: ({ caller: { key, workspace } }) =>
    key === null
      ? Effect.die(new Error("A caller without a key asked about it"))
      : Effect.succeed(keyInfo({ key, workspace })),
})
