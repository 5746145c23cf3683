/** Which rows of conversations a caller reads. */
import type { CallerScope, ChatId, ReceivedMessageId } from "@messaging-service/core"
import type { ChatRow, Lane, ReceivedRow, Tables } from "./tables.ts"

export const isOpen = ({ chat, removed }: ChatRow): boolean => !removed && chat.mergedInto === null

/** What was received before conversations were turned on again is erased soon. */
export const isReadable = ({ chat, lane, message }: ReceivedRow): boolean => {
  const { conversations } = lane.workspace
  return (
    conversations !== null &&
    message.receivedAt >= conversations.since &&
    !lane.removed &&
    !chat.removed
  )
}

export const isIn = (
  { mode, restriction, workspaceId }: CallerScope,
  lane: Lane,
  ofMode: CallerScope["mode"],
): boolean =>
  lane.number.workspaceId === workspaceId &&
  ofMode === mode &&
  (restriction === null || restriction.includes(lane.number.id))

export const findReceived = (
  tables: Tables,
  scope: CallerScope,
  id: ReceivedMessageId,
): ReceivedRow | null => {
  const row = tables.received.get(id)
  return row !== undefined && isReadable(row) && isIn(scope, row.lane, row.message.mode)
    ? row
    : null
}

export const isReadableChat = ({ chat, lane, removed }: ChatRow): boolean => {
  const { conversations } = lane.workspace
  return (
    conversations !== null &&
    (chat.lastReceivedAt ?? 0) >= conversations.since &&
    !lane.removed &&
    !removed
  )
}

export const chatIn = (tables: Tables, scope: CallerScope, id: ChatId): ChatRow | null => {
  const row = tables.chats.get(id)
  return row !== undefined && isReadableChat(row) && isIn(scope, row.lane, row.mode) ? row : null
}

/** The chat that continues. */
export const current = (tables: Tables, row: ChatRow): ChatRow =>
  row.chat.mergedInto === null ? row : (tables.chats.get(row.chat.mergedInto) ?? row)
