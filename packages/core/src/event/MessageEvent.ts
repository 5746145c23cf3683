/**
 * Events: what others must hear of. Each is written in the commit that changes the message, with
 * its body frozen, so that no change goes unannounced and every delivery says the same.
 */
import type { EventId, MessageId, WorkspaceId, WebhookId } from "../Ids.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import type { Message, MessageEventType } from "../message/Message.ts"
import { messageJson } from "../message/messageJson.ts"
import { formatInstant } from "../time/Instant.ts"
import type { Mode } from "../workspace/Workspace.ts"

export interface MessageEvent {
  readonly id: EventId
  readonly type: MessageEventType
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly messageId: MessageId
  readonly createdAt: number
  /** The envelope's bytes as every attempt sends them (contract: Events). */
  readonly body: string
}

/** The event of a message in its new state at `now`. */
export const messageEvent = (
  id: EventId,
  type: MessageEventType,
  message: Message,
  now: number,
  link: MediaLink,
): MessageEvent => ({
  id,
  type,
  workspaceId: message.workspaceId,
  mode: message.mode,
  messageId: message.id,
  createdAt: now,
  body: JSON.stringify({
    id,
    type,
    created_at: formatInstant(now),
    data: { message: messageJson(message, now, link) },
  }),
})

/** The `ping` that a test of a webhook endpoint sends (contract: Events). */
export type PingEvent = Pick<MessageEvent, "id" | "createdAt" | "body">

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
