/** A key's properties and permissions (contract: Key info). */
import {
  dailyQuota,
  described,
  messagesRemaining,
  requestsPerDay,
  requestsPerMinute,
  allScopes,
} from "@messaging-service/core"
import type { ApiKey, KeyCaller } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, IdJson, Time } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"

/** What a key shows to itself and to the operator. */
export const keyFields = {
  name: Schema.String,
  mode: Schema.Literals(["live", "test"]),
  scopes: Schema.Array(Schema.Literals(allScopes)),
  limitedToNumbers: Schema.Boolean,
  numberIds: described(Schema.Array(IdJson), "Empty unless the key is limited to some numbers."),
}

/** A key with what its record does not say in JSON's way. */
export const shownKey = <Key extends Pick<ApiKey, "numberIds">>(key: Key) => ({
  ...key,
  limitedToNumbers: key.numberIds !== null,
  numberIds: key.numberIds ?? [],
})

const KeyInfo = Schema.Struct({
  workspace: Schema.Struct({ id: IdJson, name: Schema.String }),
  key: Schema.Struct({ id: IdJson, ...keyFields, expiresAt: Schema.NullOr(Time) }),
  plan: described(
    Schema.NullOr(Schema.Struct({ name: Schema.String })),
    "Null when the workspace has no active plan.",
  ),
  limits: Schema.Struct({
    requestsPerMinute: Schema.Int,
    requestsPerDay: Schema.Int,
    messagesPerNumberPerDay: Schema.Int,
    messagesRemaining: described(
      Schema.NullOr(Schema.Int),
      "Null when the plan allows unlimited messages.",
    ),
  }),
}).annotate({ identifier: "KeyInfo" })

export const keyInfo = ({
  key,
  workspace,
}: Pick<KeyCaller, "key" | "workspace">): typeof KeyInfo.Type => ({
  workspace,
  key: shownKey(key),
  plan: workspace.plan,
  limits: {
    requestsPerMinute,
    requestsPerDay,
    messagesPerNumberPerDay: dailyQuota.messages,
    messagesRemaining: messagesRemaining(workspace.plan),
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
