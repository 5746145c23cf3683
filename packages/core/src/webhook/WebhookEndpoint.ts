/**
 * A webhook endpoint: an address of the customer's that is told of events, and what became of the attempts
 * to tell it (contract: Webhook endpoints, Deliveries). Without schemas, which stores do not need.
 */
import type { MessageEvent } from "../event/MessageEvent.ts"
import type { EventId, KeyId, WebhookId, WorkspaceId } from "../Ids.ts"
import type { MessageEventType } from "../message/Message.ts"
import type { Mode } from "../workspace/Workspace.ts"

/**
 * Running endpoints that a workspace may hold, in both modes together (contract: Webhook
 * endpoints).
 */
export const endpointLimit = 5

/** The events an endpoint can subscribe to, in the order of answers (contract: Webhook endpoints). */
export const webhookEventTypes = [
  "message.sent",
  "message.failed",
  "message.cancelled",
  "message.expired",
] as const satisfies ReadonlyArray<MessageEventType>

/** `ping` reaches the endpoint that was asked to be tested, whatever it subscribed to. */
export type WebhookEventType = MessageEventType | "ping"

export const disabledReasons = ["delivery_failures", "key_revoked"] as const

/** Why an endpoint stopped. */
export type DisabledReason = (typeof disabledReasons)[number]

export const deliveryErrors = [
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

/** An endpoint, and whether it was removed. */
export interface EndpointStanding {
  readonly endpoint: Pick<WebhookEndpoint, "disabledReason">
  readonly removed: boolean
}

/** Whether an endpoint runs: it was neither stopped nor removed. */
export const isRunning = ({ endpoint, removed }: EndpointStanding): boolean =>
  !removed && endpoint.disabledReason === null

/** Whether as many endpoints of a workspace run as may: those that are stopped or removed do not count. */
export const holdsAllEndpoints = (
  endpoints: ReadonlyArray<EndpointStanding>,
  limit: number,
): boolean => endpoints.filter(isRunning).length >= limit

/**
 * Whether an event can be delivered to an endpoint once more: it is of its workspace and mode and of a
 * type that the endpoint has now, and happened since the endpoint was made, the time that it was
 * stopped included (contract: Deliveries). A ping goes to its own endpoint alone, without this rule.
 */
export const canBeRedelivered = (
  event: Pick<MessageEvent, "workspaceId" | "mode" | "type" | "createdAt">,
  endpoint: Pick<WebhookEndpoint, "workspaceId" | "mode" | "events" | "createdAt">,
): boolean =>
  event.workspaceId === endpoint.workspaceId &&
  event.mode === endpoint.mode &&
  endpoint.events.includes(event.type) &&
  event.createdAt >= endpoint.createdAt

/** An endpoint to which nothing was delivered for this long stops. */
export const silenceMillis = 120 * 60 * 60 * 1000

/**
 * When something was last delivered to an endpoint, by these attempts too; `deliveredSince` is that
 * moment before them, or when the endpoint was made or resumed if that was later.
 */
export const deliveredSinceAfter = (
  deliveredSince: number,
  attempts: ReadonlyArray<Pick<DeliveryAttempt, "attemptedAt" | "error">>,
): number =>
  attempts.reduce(
    (latest, { attemptedAt, error }) => (error === null ? Math.max(latest, attemptedAt) : latest),
    deliveredSince,
  )

/** Whether an endpoint stops: since the moment that a used-up delivery names nothing was delivered to it. */
export const isSilent = (deliveredSince: number, stopUnlessDeliveredSince: number): boolean =>
  deliveredSince <= stopUnlessDeliveredSince

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

/** The endpoint as it was when it was made, whatever became of it since. */
export const endpointAsMade = (endpoint: WebhookEndpoint): WebhookEndpoint => ({
  ...endpoint,
  secretLast4: endpoint.firstSecretLast4,
  disabledReason: null,
  lastAttempt: null,
})
