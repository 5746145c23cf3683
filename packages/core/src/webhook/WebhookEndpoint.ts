/**
 * A webhook endpoint: an address of the customer's that is told of events, and what became of the
 * attempts to tell it (contract: Webhook endpoints, Deliveries).
 */
import { Schema } from "effect"
import { IdJson, TimeJson } from "../answer/Json.ts"
import type { MessageEvent } from "../event/MessageEvent.ts"
import type { EventId, KeyId, WebhookId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import type { MessageEventType } from "../message/Message.ts"
import { described } from "../request/Described.ts"
import { formatInstant } from "../time/Instant.ts"

/**
 * Running endpoints that a workspace may hold, in both modes together (contract: Webhook
 * endpoints).
 */
export const endpointLimit = 5

/** The events an endpoint can subscribe to, in the contract's order. */
export const webhookEventTypes = [
  "message.sent",
  "message.failed",
  "message.cancelled",
  "message.expired",
] as const satisfies ReadonlyArray<MessageEventType>

/** `ping` reaches the endpoint that was asked to be tested, whatever it subscribed to. */
export type WebhookEventType = MessageEventType | "ping"

const disabledReasons = ["delivery_failures", "key_revoked"] as const

/** Why an endpoint stopped. */
export type DisabledReason = (typeof disabledReasons)[number]

const deliveryErrors = [
  "timeout",
  "dns",
  "tls",
  "connection",
  "blocked_address",
  "http_status",
] as const

/** Why an attempt failed (contract: Webhook endpoints). */
export type DeliveryError = (typeof deliveryErrors)[number]

/** One attempt that was made, as the delivery log keeps it. */
export interface DeliveryAttempt<Type extends string = WebhookEventType> {
  readonly id: number
  readonly eventId: EventId
  readonly type: Type
  /** From 1; anew for each redelivery. */
  readonly attempt: number
  readonly attemptedAt: number
  /** Null when there was no answer. */
  readonly responseStatus: number | null
  /** Null when it was delivered. */
  readonly error: DeliveryError | null
  readonly durationMillis: number
  /** When the event is tried again; null when it is not. */
  readonly nextAttemptAt: number | null
}

/**
 * Whether an event is delivered to an endpoint that is not removed: it runs in the event's workspace
 * and mode and subscribed to the event's type (contract: Webhook endpoints).
 */
export const isToldOf = (
  endpoint: Pick<WebhookEndpoint, "workspaceId" | "mode" | "events" | "disabledReason">,
  event: Pick<MessageEvent, "workspaceId" | "mode" | "type">,
): boolean =>
  endpoint.disabledReason === null &&
  endpoint.workspaceId === event.workspaceId &&
  endpoint.mode === event.mode &&
  endpoint.events.includes(event.type)

export interface WebhookEndpoint {
  readonly id: WebhookId
  readonly workspaceId: WorkspaceId
  /** It hears of events of this mode alone, and only keys of this mode see it. */
  readonly mode: Mode
  /** The key that made it, whose revocation stops it; null when a caller without one did. */
  readonly keyId: KeyId | null
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<MessageEventType>
  /** What its secret is made from (`SigningSecrets`). */
  readonly secretSalt: string
  readonly secretLast4: string
  /** Of the secret it was made with: the answer that a repeated creation gets again. */
  readonly firstSecretLast4: string
  /** Null while it runs. */
  readonly disabledReason: DisabledReason | null
  readonly createdAt: number
  readonly lastAttempt: DeliveryAttempt | null
}

const instantOrNull = (millis: number | null) => (millis === null ? null : formatInstant(millis))

const deliveryStatus = ({ error, nextAttemptAt }: DeliveryAttempt) => {
  if (error === null) return "delivered"
  return nextAttemptAt === null ? "failed" : "retrying"
}

const eventTypes = [...webhookEventTypes, "ping"] as const

const attemptFields = {
  event_id: described(Schema.String, "`evt_` and 24 characters."),
  type: Schema.Literals(eventTypes),
  attempt: described(Schema.Int, "From 1; anew for each redelivery."),
  attempted_at: TimeJson,
  response_status: described(Schema.NullOr(Schema.Int), "Null when there was no answer."),
  error: described(Schema.NullOr(Schema.Literals(deliveryErrors)), "Null when it was delivered."),
  next_attempt_at: described(Schema.NullOr(TimeJson), "Null when it is not tried again."),
}

const LastDeliveryJson = Schema.Struct({
  ...attemptFields,
  status: Schema.Literals(["delivered", "retrying", "failed"]),
}).annotate({ identifier: "LastDelivery" })

/** The Webhook endpoint object (contract: Webhook endpoints). */
export const EndpointJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("WebhookId")),
  url: Schema.String,
  description: Schema.String,
  events: Schema.Array(Schema.Literals(webhookEventTypes)),
  secret_last4: described(Schema.String, "Last four characters of the signing secret."),
  active: described(Schema.Boolean, "False for a stopped endpoint."),
  disabled_reason: described(Schema.NullOr(Schema.Literals(disabledReasons)), "Why it stopped."),
  created_at: TimeJson,
  last_delivery: described(Schema.NullOr(LastDeliveryJson), "Outcome of the latest attempt."),
}).annotate({ identifier: "Webhook" })

export type EndpointJson = typeof EndpointJson.Type

/** The answer to a creation and to a change of the secret. */
export const EndpointWithSecret = Schema.Struct({
  ...EndpointJson.fields,
  secret: described(
    Schema.String,
    "64 hexadecimal characters that sign deliveries; shown only here.",
  ),
}).annotate({ identifier: "WebhookWithSecret" })

export type EndpointWithSecret = typeof EndpointWithSecret.Type

/** A line of the delivery log (contract: Webhook operations). */
export const DeliveryJson = Schema.Struct({
  id: IdJson,
  ...attemptFields,
  duration_ms: Schema.Int,
}).annotate({ identifier: "Delivery" })

export type DeliveryJson = typeof DeliveryJson.Type

const lastDeliveryJson = (attempt: DeliveryAttempt): typeof LastDeliveryJson.Type => ({
  event_id: attempt.eventId,
  type: attempt.type,
  status: deliveryStatus(attempt),
  attempt: attempt.attempt,
  response_status: attempt.responseStatus,
  error: attempt.error,
  attempted_at: formatInstant(attempt.attemptedAt),
  next_attempt_at: instantOrNull(attempt.nextAttemptAt),
})

/** The endpoint as every answer but the creating and the rotating one shows it: without a secret. */
export const endpointJson = (endpoint: WebhookEndpoint): EndpointJson => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description,
  events: endpoint.events,
  secret_last4: endpoint.secretLast4,
  active: endpoint.disabledReason === null,
  disabled_reason: endpoint.disabledReason,
  created_at: formatInstant(endpoint.createdAt),
  last_delivery: endpoint.lastAttempt === null ? null : lastDeliveryJson(endpoint.lastAttempt),
})

/** The endpoint as the answer to its creation showed it, whatever became of it since. */
export const createdEndpointJson = (endpoint: WebhookEndpoint): EndpointJson =>
  endpointJson({
    ...endpoint,
    secretLast4: endpoint.firstSecretLast4,
    disabledReason: null,
    lastAttempt: null,
  })

/** One line of the delivery log, of endpoints and of callbacks (contract: Webhook operations). */
export const deliveryJson = <Type extends string>(attempt: DeliveryAttempt<Type>) => ({
  id: attempt.id,
  event_id: attempt.eventId,
  type: attempt.type,
  attempt: attempt.attempt,
  attempted_at: formatInstant(attempt.attemptedAt),
  response_status: attempt.responseStatus,
  error: attempt.error,
  duration_ms: attempt.durationMillis,
  next_attempt_at: instantOrNull(attempt.nextAttemptAt),
})
