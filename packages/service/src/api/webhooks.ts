/** Webhook endpoints: addresses that receive events as signed calls. */
import type { Made, Mode, RepeatOptions } from "./common.ts"

/** What can become of a waiting message. */
export type MessageEventType =
  | "message.sent"
  | "message.failed"
  | "message.cancelled"
  | "message.expired"

/** Why a call failed. */
export type DeliveryError =
  | "timeout"
  | "dns"
  | "tls"
  | "connection"
  | "blocked_address"
  | "http_status"

/** An endpoint to make. */
export interface CreateWebhook {
  /** Public https:// address of at most 500 characters. */
  readonly url: string
  /** Event types to deliver. Default: all. */
  readonly events?: ReadonlyArray<MessageEventType> | undefined
  /** A note, at most 100 characters. */
  readonly description?: string | undefined
}

/** One call of an endpoint. */
export interface Delivery {
  /** Unique in the log. */
  readonly id: number
  /** `evt_` and 24 characters; the same at every attempt. */
  readonly eventId: string
  /** `ping` is a test. */
  readonly type: MessageEventType | "ping"
  /** 1 for the first call with the event, counted on with each repeat; a redelivery begins at 1 again. */
  readonly attempt: number
  /** When it was made. */
  readonly attemptedAt: Date
  /** HTTP status of the answer; null when there was none. */
  readonly responseStatus: number | null
  /** Null when it was delivered. */
  readonly error: DeliveryError | null
  /** How long the call took, in milliseconds. */
  readonly durationMillis: number
  /** When the event is tried again; null when it is not. */
  readonly nextAttemptAt: Date | null
}

/** A webhook endpoint. */
export interface Webhook {
  /** Unique in the store. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** It receives events of this mode only. */
  readonly mode: Mode
  /** The key that made it, whose revocation stops it; null when a trusted caller did. */
  readonly keyId: number | null
  /** Where it is. */
  readonly url: string
  /** The note; may be empty. */
  readonly description: string
  /** The event types that it receives. */
  readonly events: ReadonlyArray<MessageEventType>
  /** Last four characters of the signing secret. */
  readonly secretLast4: string
  /** False for a stopped endpoint: nothing is delivered to it. */
  readonly active: boolean
  /** Why it stopped; null while it runs. */
  readonly disabledReason: "delivery_failures" | "key_revoked" | null
  /** When it was made. */
  readonly createdAt: Date
  /** The latest call; null before the first. */
  readonly lastAttempt: Delivery | null
}

/** A webhook endpoint with its signing secret, which is shown only when it is made or replaced. */
export interface WebhookWithSecret extends Webhook {
  /** 64 hexadecimal characters; null in the answer to a repeat, which does not show it again. */
  readonly secret: string | null
}

/** An event that is on its way to an endpoint. */
export interface QueuedEvent {
  /** `evt_` and 24 characters. */
  readonly id: string
  /** `ping` is a test. */
  readonly type: MessageEventType | "ping"
}

/** Webhook endpoints of one workspace, in one mode. */
export interface WebhooksApi {
  /**
   * At most 5 run in a workspace. Keep the secret: it is shown only now. Fails with
   * `validation_failed`, `invalid_webhook_url`, `webhook_limit_reached`, and as `idempotencyKey` says.
   */
  readonly create: (
    command: CreateWebhook,
    options?: RepeatOptions,
  ) => Promise<Made<WebhookWithSecret>>
  /** Those that run, oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<Webhook>>
  /** The endpoint, also when it is stopped. Fails with `webhook_not_found`. */
  readonly get: (id: number) => Promise<Webhook>
  /** Deletes it: nothing more is sent to it. Fails with `webhook_not_found`. */
  readonly remove: (id: number) => Promise<void>
  /** Replaces the signing secret; the old one stops working at once. Fails with `webhook_not_found`. */
  readonly rotateSecret: (id: number) => Promise<WebhookWithSecret>
  /** Sends a `ping` to it. Fails with `webhook_not_found`, `webhook_stopped`. */
  readonly test: (id: number) => Promise<QueuedEvent>
}
