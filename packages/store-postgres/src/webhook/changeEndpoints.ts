/**
 * What changes endpoints: making one, letting a stopped one run again, queueing one more delivery, and
 * stopping and removing, which end what is pending in the same commit. An event that is being written
 * meanwhile may still queue a delivery: the claim that takes its mark drops it.
 *
 * Locks: the claim, then the key, then the workspace, so that two of a workspace count one after the
 * other and none is missed by a revocation or a deletion; then the lanes by endpoint; then the
 * endpoints.
 */
import type { NewWebhook } from "@messaging-service/core"
import { bigint, columnsOf, instant, integer, text, texts } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { joined, part, single, sqlFunction, taking } from "../database/Statement.ts"
import { claimParameters } from "../PostgresIdempotency.ts"

/** What is written of a new endpoint. */
export const newFields = {
  workspaceId: { workspace_id: bigint((endpoint) => endpoint.workspaceId) },
  mode: { mode: text((endpoint) => endpoint.mode) },
  keyId: { key_id: bigint((endpoint) => endpoint.keyId) },
  url: { url: text((endpoint) => endpoint.url) },
  description: { description: text((endpoint) => endpoint.description) },
  events: { events: texts((endpoint) => endpoint.events) },
  secretSalt: { secret_salt: text((endpoint) => endpoint.secretSalt) },
  secretLast4: { secret_last4: text((endpoint) => endpoint.secretLast4) },
  createdAt: { created_at: instant((endpoint) => endpoint.createdAt) },
} satisfies FieldsOf<NewWebhook>

const newColumns = columnsOf(newFields)

export const insertEndpoint = sqlFunction(
  "insert_webhook_endpoint",
  joined(part("endpoint", single(newColumns, "p_")), taking({ limit: integer }), claimParameters),
)

const ofEndpoint = { workspaceId: bigint, mode: text, id: bigint }

export const resumeEndpoint = sqlFunction(
  "resume_webhook_endpoint",
  taking({ ...ofEndpoint, limit: integer, now: instant }),
)

export const queuePing = sqlFunction(
  "queue_webhook_ping",
  taking({ ...ofEndpoint, eventId: text, createdAt: instant, body: text }),
)

export const redeliverEvent = sqlFunction(
  "redeliver_webhook_event",
  taking({ ...ofEndpoint, eventId: text, now: instant }),
)
