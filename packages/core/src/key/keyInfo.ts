/** What a key is and may do: the answer of GET /me (contract: Key info). */
import { Schema } from "effect"
import { IdJson, TimeJson } from "../answer/Json.ts"
import { dailyQuota } from "../message/Quota.ts"
import { described } from "../request/Described.ts"
import { requestsPerDay, requestsPerMinute } from "../request/RateWindow.ts"
import { formatInstant } from "../time/Instant.ts"
import { messagesRemaining } from "../workspace/Workspace.ts"
import type { KeyCaller } from "./Caller.ts"
import { scopes } from "./ApiKey.ts"

/** The Key info object. */
export const KeyInfo = Schema.Struct({
  workspace: Schema.Struct({ id: IdJson, name: Schema.String }),
  key: Schema.Struct({
    id: IdJson,
    name: Schema.String,
    mode: Schema.Literals(["live", "test"]),
    scopes: Schema.Array(Schema.Literals(scopes)),
    limited_to_numbers: Schema.Boolean,
    number_ids: described(Schema.Array(IdJson), "Empty unless the key is limited to some numbers."),
    expires_at: Schema.NullOr(TimeJson),
  }),
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

export type KeyInfo = typeof KeyInfo.Type

export const keyInfo = ({ key, workspace }: KeyCaller): KeyInfo => ({
  workspace: { id: workspace.id, name: workspace.name },
  key: {
    id: key.id,
    name: key.name,
    mode: key.mode,
    scopes: key.scopes,
    limited_to_numbers: key.numberIds !== null,
    number_ids: key.numberIds ?? [],
    expires_at: key.expiresAt === null ? null : formatInstant(key.expiresAt),
  },
  plan: workspace.plan === null ? null : { name: workspace.plan.name },
  limits: {
    requests_per_minute: requestsPerMinute,
    requests_per_day: requestsPerDay,
    messages_per_number_per_day: dailyQuota.messages,
    messages_remaining: messagesRemaining(workspace.plan),
  },
})
