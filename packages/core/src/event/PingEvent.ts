/** The `ping` that a test of a webhook endpoint sends (contract: Events). */
import type { EventId, WebhookId } from "../id/Ids.ts"
import { formatInstant } from "../time/Instant.ts"

export interface PingEvent {
  readonly id: EventId
  readonly createdAt: number
  /** The envelope's bytes as every attempt sends them. */
  readonly body: string
}

/** A ping of that endpoint, made at `now`. */
export const pingEvent = (id: EventId, webhookId: WebhookId, now: number): PingEvent => ({
  id,
  createdAt: now,
  body: JSON.stringify({
    id,
    type: "ping",
    created_at: formatInstant(now),
    data: { webhook_id: webhookId },
  }),
})
