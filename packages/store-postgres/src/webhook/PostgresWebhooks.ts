/** Webhook endpoints and their delivery log. */
import { WebhookStore, pageOf } from "@messaging-service/core"
import type {
  CallbackType,
  Queueing,
  StoreUnavailable,
  WebhookEndpoint,
  WebhookEventType,
  WebhookId,
  WebhookInsertion,
  WebhookScope,
} from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, boolean, idBefore, instant, integer, text, texts } from "../database/parameters.ts"
import { placeholders } from "../database/SqlFunction.ts"
import { removeEndpoints } from "./endEndpoints.ts"
import {
  attemptColumns,
  endpointColumns,
  latestAttempt,
  toAttempt,
  toEndpoint,
} from "./endpointRow.ts"
import type { AttemptRow, EndpointWithAttemptRow } from "./endpointRow.ts"
import { insertEndpoint, resumeEndpoint } from "./openEndpoint.ts"
import { queuePing, redeliverEvent } from "./queueDelivery.ts"

const insertStatement = `
select inserted.guard, inserted.id
from ${insertEndpoint.name}(${placeholders(14)})
  inserted`

/** What a scope sees, whose parameters are $1 and $2. */
const inScope = `e.workspace_id = $1
  and ($2::text is null or e.mode = $2)
  and e.removed_at is null`

const getEndpoint = `
select ${endpointColumns("e")}
from webhook_endpoints e
${latestAttempt("e")}
where ${inScope}
  and e.id = $3`

const madeEndpoint = `
select ${endpointColumns("e")}
from webhook_endpoints e
${latestAttempt("e")}
where e.id = $1`

// Index webhook_endpoints_by_workspace.
const listEndpoints = `
select ${endpointColumns("e")}
from webhook_endpoints e
${latestAttempt("e")}
where ${inScope}
  and ($3 or e.disabled_reason is null)
order by e.id`

const rotateSecret = `
with rotated as (
  update webhook_endpoints e
  set secret_salt = $4,
    secret_last4 = $5
  where ${inScope}
    and e.id = $3
  returning e.*
)
select ${endpointColumns("rotated")}
from rotated
${latestAttempt("rotated")}`

const removeStatement = `
select ${removeEndpoints.name}(array(select e.id from webhook_endpoints e where ${inScope} and e.id = $3), $4)
  as removed`

const resumeStatement = `select ${resumeEndpoint.name}($1, $2, $3, $4, $5) as outcome`

const pingStatement = `select ${queuePing.name}($1, $2, $3, $4, $5, $6) as outcome`

const redeliverStatement = `select ${redeliverEvent.name}($1, $2, $3, $4, $5) as outcome`

// Index webhook_attempts_by_endpoint.
const listAttempts = `
select ${attemptColumns("a")}
from webhook_attempts a
where a.endpoint_id = $1
  and a.id < $2
order by a.id desc
limit $3`

// Index webhook_attempts_of_callbacks.
const listCallbackAttempts = `
select ${attemptColumns("a")}, a.url
from webhook_attempts a
where a.workspace_id = $1
  and a.id < $2
order by a.id desc
limit $3`

/** Ids grow with time: what is old is at the front. */
const forgetAttempts = `
with oldest as (
  select a.id, a.attempted_at
  from webhook_attempts a
  order by a.id
  limit $2
)
delete from webhook_attempts a
using oldest
where a.id = oldest.id
  and oldest.attempted_at < $1
returning a.id`

/** Rows that one statement drops at most. */
const batch = 5000

const scopeParameters = (scope: WebhookScope, id: WebhookId) => [
  bigint(scope.workspaceId),
  text(scope.mode),
  bigint(id),
]

const toQueueing = (outcome: string): Queueing => {
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

export const layerWebhooks = Layer.effect(
  WebhookStore,
  Effect.gen(function* () {
    const database = yield* Database

    const endpoints = (
      operation: string,
      statement: string,
      parameters: ReadonlyArray<unknown>,
    ): Effect.Effect<ReadonlyArray<WebhookEndpoint>, StoreUnavailable> =>
      Effect.map(database.query<EndpointWithAttemptRow>(operation, statement, parameters), (rows) =>
        rows.map(toEndpoint),
      )

    const endpoint = (
      operation: string,
      statement: string,
      parameters: ReadonlyArray<unknown>,
    ): Effect.Effect<WebhookEndpoint | null, StoreUnavailable> =>
      Effect.map(endpoints(operation, statement, parameters), ([found]) => found ?? null)

    const outcome = (
      operation: string,
      statement: string,
      parameters: ReadonlyArray<unknown>,
    ): Effect.Effect<string, StoreUnavailable> =>
      Effect.map(
        database.query<{ readonly outcome: string }>(operation, statement, parameters),
        ([row]) => row?.outcome ?? "",
      )

    return WebhookStore.of({
      insert: (given, limit, idempotency) =>
        database
          .query<{
            readonly guard: Extract<WebhookInsertion, { _tag: "Broken" }>["guard"] | null
            readonly id: bigint | null
          }>("webhook.insert", insertStatement, [
            bigint(given.workspaceId),
            bigint(given.keyId),
            text(given.mode),
            text(given.url),
            text(given.description),
            texts(given.events),
            text(given.secretSalt),
            text(given.secretLast4),
            instant(given.createdAt),
            integer(limit),
            bigint(idempotency?.keyId ?? null),
            text(idempotency?.key ?? null),
            text(idempotency?.fingerprint ?? null),
            text(idempotency?.token ?? null),
          ])
          .pipe(
            Effect.map(([row]): WebhookInsertion => {
              if (row?.id == null) return { _tag: "Broken", guard: row?.guard ?? "limit" }
              return {
                _tag: "Inserted",
                endpoint: {
                  ...given,
                  id: Number(row.id) as WebhookId,
                  firstSecretLast4: given.secretLast4,
                  disabledReason: null,
                  lastAttempt: null,
                },
              }
            }),
          ),
      get: (scope, id) => endpoint("webhook.get", getEndpoint, scopeParameters(scope, id)),
      made: (id) => endpoint("webhook.made", madeEndpoint, [bigint(id)]),
      list: (scope, stopped) =>
        endpoints("webhook.list", listEndpoints, [
          bigint(scope.workspaceId),
          text(scope.mode),
          boolean(stopped),
        ]),
      rotate: (scope, id, secret) =>
        endpoint("webhook.rotate", rotateSecret, [
          ...scopeParameters(scope, id),
          text(secret.secretSalt),
          text(secret.secretLast4),
        ]),
      remove: (scope, id, now) =>
        Effect.map(
          database.query<{ readonly removed: number }>("webhook.remove", removeStatement, [
            ...scopeParameters(scope, id),
            instant(now),
          ]),
          ([row]) => row?.removed === 1,
        ),
      resume: (scope, id, limit, now) =>
        Effect.gen(function* () {
          const resumed = yield* outcome("webhook.resume", resumeStatement, [
            ...scopeParameters(scope, id),
            integer(limit),
            instant(now),
          ])
          if (resumed === "limit") return "limit"
          if (resumed !== "running") return null
          return yield* endpoint("webhook.get", getEndpoint, scopeParameters(scope, id))
        }),
      ping: (scope, id, event) =>
        Effect.map(
          outcome("webhook.ping", pingStatement, [
            ...scopeParameters(scope, id),
            text(event.id),
            instant(event.createdAt),
            text(event.body),
          ]),
          toQueueing,
        ),
      redeliver: (scope, id, eventId, now) =>
        Effect.map(
          outcome("webhook.redeliver", redeliverStatement, [
            ...scopeParameters(scope, id),
            text(eventId),
            instant(now),
          ]),
          toQueueing,
        ),
      attempts: (id, { before, limit }) =>
        Effect.map(
          database.list<AttemptRow>(`endpoint ${id}`, "webhook.attempts", listAttempts, [
            bigint(id),
            idBefore(before),
            integer(limit + 1),
          ]),
          (rows) => pageOf(rows.map(toAttempt), limit),
        ),
      callbackAttempts: (workspaceId, { before, limit }) =>
        Effect.map(
          database.list<AttemptRow & { readonly url: string }>(
            `workspace ${workspaceId}`,
            "webhook.callbackAttempts",
            listCallbackAttempts,
            [bigint(workspaceId), idBefore(before), integer(limit + 1)],
          ),
          (rows) =>
            pageOf(
              rows.map((row) => ({ ...toAttempt<CallbackType>(row), url: row.url })),
              limit,
            ),
        ),
      forgetAttempts: (before) =>
        database
          .query("webhook.forgetAttempts", forgetAttempts, [instant(before), integer(batch)])
          .pipe(Effect.repeat({ while: (dropped) => dropped.length === batch }), Effect.asVoid),
    })
  }),
)
