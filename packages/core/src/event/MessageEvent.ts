/**
 * Events: what others must hear of. Each is written in the commit that changes the message, with
 * its body frozen, so that no change goes unannounced and every delivery says the same.
 */
import type { EventId, MessageId, WorkspaceId } from "../id/Ids.ts"
import type { Mode } from "../key/ApiKey.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import { messageJson } from "../message/messageJson.ts"
import type { Message, MessageEventType } from "../message/Message.ts"
import { formatInstant } from "../time/Instant.ts"

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
