/** A webhook endpoint and its attempts as their tables keep them. */
import type {
  DeliveryAttempt,
  DeliveryError,
  DisabledReason,
  EventId,
  KeyId,
  MessageEventType,
  Mode,
  WebhookEndpoint,
  WebhookEventType,
  WebhookId,
  WorkspaceId,
} from "@messaging-service/core"

export interface AttemptRow {
  readonly id: bigint
  readonly event_id: string
  readonly type: string
  readonly attempt: number
  readonly attempted_at: Date
  readonly response_status: number | null
  readonly error: string | null
  readonly duration_millis: bigint
  readonly next_attempt_at: Date | null
}

export interface EndpointRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly key_id: bigint | null
  readonly mode: string
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<string>
  readonly secret_salt: string
  readonly secret_last4: string
  readonly first_secret_last4: string
  readonly disabled_reason: string | null
  readonly created_at: Date
}

/** The latest attempt beside its endpoint; all null when there was none. */
export type EndpointWithAttemptRow = EndpointRow & {
  readonly [Name in keyof AttemptRow as `latest_${Name}`]: AttemptRow[Name] | null
}

const attemptNames = [
  "id",
  "event_id",
  "type",
  "attempt",
  "attempted_at",
  "response_status",
  "error",
  "duration_millis",
  "next_attempt_at",
] as const satisfies ReadonlyArray<keyof AttemptRow>

const endpointNames = [
  "id",
  "workspace_id",
  "key_id",
  "mode",
  "url",
  "description",
  "events",
  "secret_salt",
  "secret_last4",
  "first_secret_last4",
  "disabled_reason",
  "created_at",
] as const satisfies ReadonlyArray<keyof EndpointRow>

/** The columns of an `AttemptRow`. */
export const attemptColumns = (alias: string): string =>
  attemptNames.map((name) => `${alias}.${name}`).join(", ")

/** The columns of an `EndpointWithAttemptRow`, from an endpoint and `latestAttempt` of it. */
export const endpointColumns = (alias: string): string =>
  [
    ...endpointNames.map((name) => `${alias}.${name}`),
    ...attemptNames.map((name) => `latest.${name} as latest_${name}`),
  ].join(", ")

/** Index `webhook_attempts_by_endpoint`. */
export const latestAttempt = (alias: string): string => `left join lateral (
  select ${attemptColumns("a")}
  from webhook_attempts a
  where a.endpoint_id = ${alias}.id
  order by a.id desc
  limit 1
) latest on true`

export const toAttempt = <Type extends string = WebhookEventType>(
  row: AttemptRow,
): DeliveryAttempt<Type> => ({
  id: Number(row.id),
  eventId: row.event_id as EventId,
  type: row.type as Type,
  attempt: row.attempt,
  attemptedAt: row.attempted_at.getTime(),
  responseStatus: row.response_status,
  error: row.error as DeliveryError | null,
  durationMillis: Number(row.duration_millis),
  nextAttemptAt: row.next_attempt_at === null ? null : row.next_attempt_at.getTime(),
})

const toLatest = (row: EndpointWithAttemptRow): DeliveryAttempt | null =>
  row.latest_id === null
    ? null
    : toAttempt({
        id: row.latest_id,
        event_id: row.latest_event_id ?? "",
        type: row.latest_type ?? "",
        attempt: row.latest_attempt ?? 0,
        attempted_at: row.latest_attempted_at ?? row.created_at,
        response_status: row.latest_response_status,
        error: row.latest_error,
        duration_millis: row.latest_duration_millis ?? 0n,
        next_attempt_at: row.latest_next_attempt_at,
      })

export const toEndpoint = (row: EndpointWithAttemptRow): WebhookEndpoint => ({
  id: Number(row.id) as WebhookId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  keyId: row.key_id === null ? null : (Number(row.key_id) as KeyId),
  url: row.url,
  description: row.description,
  events: row.events as ReadonlyArray<MessageEventType>,
  secretSalt: row.secret_salt,
  secretLast4: row.secret_last4,
  firstSecretLast4: row.first_secret_last4,
  disabledReason: row.disabled_reason as DisabledReason | null,
  createdAt: row.created_at.getTime(),
  lastAttempt: toLatest(row),
})
