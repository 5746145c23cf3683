/** Webhook endpoints: addresses that receive events as signed calls. */
import type { Made, Mode, RepeatOptions } from "./common.ts"

/** Events of a message. */
export type MessageEventType =
  | "message.sent"
  | "message.failed"
  | "message.cancelled"
  | "message.expired"

/** Events of a number, which a workspace receives while conversations are on. */
export type NumberEventType =
  | "number.connected"
  | "number.disconnected"
  | "number.paused"
  | "number.resumed"

/** Messages of a number may be missing; a workspace learns of it while conversations are on. */
export type GapEventType = "number.gap"

/** What WhatsApp lets a number do with new chats; reported to a workspace while conversations are on. */
export type RestrictionEventType = "number.restricted" | "number.unrestricted"

/** Events of what people write, which a workspace receives while conversations are on. */
export type ReceivedEventType =
  | "message.received"
  | "message.echo"
  | "message.edited"
  | "message.revoked"
  | "message.recovered"

/** A reaction to a message, which a workspace learns of while conversations are on. */
export type ReactionEventType = "message.reaction"

/** Every event. Those outside `MessageEventType` need conversations. */
export type EventType =
  | MessageEventType
  | "message.delivered"
  | "message.read"
  | NumberEventType
  | GapEventType
  | RestrictionEventType
  | ReceivedEventType
  | ReactionEventType

/** Why a call failed. */
export type DeliveryError =
  | "timeout"
  | "dns"
  | "tls"
  | "connection"
  | "blocked_address"
  | "http_status"

/** An endpoint to create. */
export interface CreateWebhook {
  /** Public `https://` address. At most 500 characters. */
  readonly url: string
  /** Event types to deliver. Default: the four of messages. The others need conversations. */
  readonly events?: ReadonlyArray<EventType> | undefined
  /** A note. At most 100 characters. */
  readonly description?: string | undefined
}

/** One call of an endpoint. */
export interface Delivery {
  /** Unique in the log. */
  readonly id: number
  /** `evt_` and 24 characters. The same at every attempt. */
  readonly eventId: string
  /** `ping` is a test. */
  readonly type: EventType | "ping"
  /** From 1; starts again for each redelivery. */
  readonly attempt: number
  /** Time of the call. */
  readonly attemptedAt: Date
  /** HTTP status of the response; null without one. */
  readonly responseStatus: number | null
  /** Null when it was delivered. */
  readonly error: DeliveryError | null
  /** Duration of the call, in milliseconds. */
  readonly durationMillis: number
  /** When the next attempt comes; null without one. */
  readonly nextAttemptAt: Date | null
}

/** A webhook endpoint. */
export interface Webhook {
  /** Unique in the store. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /** It receives events of this mode only. */
  readonly mode: Mode
  /** The key that created it; revoking that key stops it. Null when a trusted caller created it. */
  readonly keyId: number | null
  /** Its URL. */
  readonly url: string
  /** The note; may be empty. */
  readonly description: string
  /** The event types that it receives. */
  readonly events: ReadonlyArray<EventType>
  /** Last four characters of the signing secret. */
  readonly secretLast4: string
  /** False for a stopped endpoint. */
  readonly active: boolean
  /** Why it stopped; null while it runs. */
  readonly disabledReason: "delivery_failures" | "key_revoked" | null
  /** Creation time. */
  readonly createdAt: Date
  /** The latest call; null before the first. */
  readonly lastAttempt: Delivery | null
}

/** A webhook endpoint with its signing secret, which only creation and replacement show. */
export interface WebhookWithSecret extends Webhook {
  /**
   * 64 hexadecimal characters that sign deliveries, shown only here. Null in the result of a
   * repeat.
   */
  readonly secret: string | null
}

/** An event on its way to an endpoint. */
export interface QueuedEvent {
  /** `evt_` and 24 characters. */
  readonly id: string
  /** `ping` is a test. */
  readonly type: EventType | "ping"
}

/** Webhook endpoints of one workspace, in one mode. */
export interface WebhooksApi {
  /**
   * Creates an endpoint; at most 5 run in a workspace. Keep the secret: only this call shows it. Fails
   * with `validation_failed`, `invalid_webhook_url`, `webhook_limit_reached`, `missing_scope` for events that
   * need `chats:read`, and the codes of `idempotencyKey`.
   */
  readonly create: (
    command: CreateWebhook,
    options?: RepeatOptions,
  ) => Promise<Made<WebhookWithSecret>>
  /** Running endpoints, oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<Webhook>>
  /** The endpoint, even when stopped. Fails with `webhook_not_found`. */
  readonly get: (id: number) => Promise<Webhook>
  /** Deletes the endpoint, which receives nothing more. Fails with `webhook_not_found`. */
  readonly remove: (id: number) => Promise<void>
  /** Replaces the signing secret; the old one stops working at once. Fails with `webhook_not_found`. */
  readonly rotateSecret: (id: number) => Promise<WebhookWithSecret>
  /** Sends a `ping` to it. Fails with `webhook_not_found`, `webhook_stopped`. */
  readonly test: (id: number) => Promise<QueuedEvent>
}
