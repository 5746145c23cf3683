/** Webhook endpoints and their delivery log. */
import { sqlFiles } from "../sql.generated.ts"
import { erasedAtOnce } from "@messaging-service/core"
import type {
  CallbackAttempt,
  DeliveryAttempt,
  Queueing,
  WebhookEndpoint,
  WebhookEventType,
  WebhookId,
  WebhookInsertion,
  WebhookStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, boolean, paging, instant, integer, jsonOf, text } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, given, statement } from "../database/Statement.ts"
import {
  insertEndpoint,
  newFields,
  queuePing,
  redeliverEvent,
  resumeEndpoint,
} from "./changeEndpoints.ts"

const attemptFields = {
  id: { id: bigint((attempt) => attempt.id) },
  eventId: { event_id: text((attempt) => attempt.eventId) },
  type: { type: text((attempt) => attempt.type) },
  attempt: { attempt: integer((attempt) => attempt.attempt) },
  attemptedAt: { attempted_at: instant((attempt) => attempt.attemptedAt) },
  responseStatus: { response_status: integer((attempt) => attempt.responseStatus) },
  error: { error: text((attempt) => attempt.error) },
  durationMillis: { duration_millis: bigint((attempt) => attempt.durationMillis) },
  nextAttemptAt: { next_attempt_at: instant((attempt) => attempt.nextAttemptAt) },
} satisfies FieldsOf<DeliveryAttempt<string>>

const endpointFields = {
  id: { id: bigint((endpoint) => endpoint.id) },
  ...newFields,
  firstSecretLast4: { first_secret_last4: text((endpoint) => endpoint.firstSecretLast4) },
  disabledReason: { disabled_reason: text((endpoint) => endpoint.disabledReason) },
} satisfies FieldsOf<Omit<WebhookEndpoint, "lastAttempt">>

interface EndpointRow {
  readonly endpoint: Omit<WebhookEndpoint, "lastAttempt">
  readonly last_attempt: DeliveryAttempt | null
}

// Index webhook_attempts_by_endpoint.
const endpointColumns = (alias: string): string => `${jsonOf(endpointFields, alias)} as endpoint,
  (
    select ${jsonOf(attemptFields, "a")}
    from webhook_attempts a
    where a.endpoint_id = ${alias}.id
    order by a.id desc
    limit 1
  ) as last_attempt`

const toEndpoint = ({ endpoint, last_attempt: lastAttempt }: EndpointRow): WebhookEndpoint => ({
  ...endpoint,
  lastAttempt,
})

interface AttemptRow<Attempt> {
  readonly attempt: Attempt
}

const toAttempt = <Attempt>({ attempt }: AttemptRow<Attempt>): Attempt => attempt

interface InsertedRow {
  readonly guard: Extract<WebhookInsertion, { _tag: "Broken" }>["guard"] | null
  readonly id: bigint | null
}

const insert = call("webhook.insert", insertEndpoint)
const resume = call("webhook.resume", resumeEndpoint)
const ping = call("webhook.ping", queuePing)
const redeliver = call("webhook.redeliver", redeliverEvent)

const scope = { workspaceId: bigint, mode: text }
const named = { ...scope, id: bigint }

const getEndpoint = statement(
  "webhook.get",
  given(named),
)(sqlFiles["statements/webhook/get-endpoint.sql"])

const madeEndpoint = statement("webhook.made", given({ id: bigint }))`
select ${endpointColumns("e")}
from webhook_endpoints e
where e.id = $id`

const listEndpoints = statement(
  "webhook.list",
  given({ ...scope, stopped: boolean }),
)(sqlFiles["statements/webhook/list-endpoints.sql"])

const rotateSecret = statement(
  "webhook.rotate",
  given({ ...named, secretSalt: text, secretLast4: text }),
)(sqlFiles["statements/webhook/rotate-secret.sql"])

const removeEndpoint = statement(
  "webhook.remove",
  given({ ...named, now: instant }),
)(sqlFiles["statements/webhook/remove-endpoint.sql"])

const page = given({ id: bigint, ...paging })

const listAttempts = statement(
  "webhook.attempts",
  page,
)(sqlFiles["statements/webhook/list-attempts.sql"])

const listCallbackAttempts = statement(
  "webhook.callbackAttempts",
  page,
)(sqlFiles["statements/webhook/list-callback-attempts.sql"])

const forgetAttempts = statement(
  "webhook.forgetAttempts",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/webhook/forget-attempts.sql"])

const queueingOf = (outcome: string | null): Queueing => {
  switch (outcome) {
    case "stopped":
      return { _tag: "Stopped" }
    case "no endpoint":
      return { _tag: "NoEndpoint" }
    case "no event":
      return { _tag: "NoEvent" }
    default:
      return { _tag: "Queued", type: outcome as WebhookEventType }
  }
}

export const webhookStore = (database: DatabaseService): typeof WebhookStore.Service => ({
  insert: (endpoint, limit, claim) =>
    Effect.map(
      insert.rows<InsertedRow>(database, { endpoint, limit, claim }),
      ([row]): WebhookInsertion =>
        row?.id == null
          ? { _tag: "Broken", guard: row?.guard ?? "limit" }
          : {
              _tag: "Inserted",
              endpoint: {
                ...endpoint,
                id: Number(row.id) as WebhookId,
                firstSecretLast4: endpoint.secretLast4,
                disabledReason: null,
                lastAttempt: null,
              },
            },
    ),
  get: (asked, id) => getEndpoint.first(database, { ...asked, id }, toEndpoint),
  made: (id) => madeEndpoint.first(database, { id }, toEndpoint),
  list: (asked, stopped) => listEndpoints.all(database, { ...asked, stopped }, toEndpoint),
  rotate: (asked, id, secret) =>
    rotateSecret.first(database, { ...asked, id, ...secret }, toEndpoint),
  remove: (asked, id, now) => removeEndpoint.any(database, { ...asked, id, now }),
  resume: (asked, id, limit, now) =>
    Effect.gen(function* () {
      const outcome = yield* resume.value<string>(database, { ...asked, id, limit, now })
      if (outcome === "limit") return "limit"
      if (outcome !== "running") return null
      return yield* getEndpoint.first(database, { ...asked, id }, toEndpoint)
    }),
  ping: (asked, id, { body, createdAt, id: eventId }) =>
    Effect.map(
      ping.value<string>(database, { ...asked, id, eventId, createdAt, body }),
      queueingOf,
    ),
  redeliver: (asked, id, eventId, now) =>
    Effect.map(redeliver.value<string>(database, { ...asked, id, eventId, now }), queueingOf),
  attempts: (id, asked) =>
    listAttempts.page(database, `endpoint ${id}`, { ...asked, id }, toAttempt<DeliveryAttempt>),
  callbackAttempts: (id, asked) =>
    listCallbackAttempts.page(
      database,
      `workspace ${id}`,
      { ...asked, id },
      toAttempt<CallbackAttempt>,
    ),
  forgetAttempts: (before) => forgetAttempts.untilDone(database, { before, limit: erasedAtOnce }),
})
