/** In which chats messages left, in memory. */
import { toTarget } from "@messaging-service/core"
import { current, isOpen } from "./chatRows.ts"
import type { ChatRow, MessageRow, Tables } from "./tables.ts"

/** The chat with the person or group that a message is to, if there is one. */
const findChat = (tables: Tables, { lane, message }: MessageRow): ChatRow | undefined => {
  const { mode, to } = message
  if (to.kind === "chat") {
    const named = tables.chats.get(to.chatId)
    return named === undefined || named.removed ? undefined : current(tables, named)
  }
  const target = toTarget(to)
  const isMeant = ({ chat, group, person }: ChatRow): boolean => {
    switch (target.kind) {
      case "phone":
        return person?.known.phone === target.phone
      case "group":
        return group !== null && chat.name === target.group
      case "username":
        return person?.known.username?.toLowerCase() === target.username.toLowerCase()
      case "user_id":
        return person?.known.userId === String(target.userId)
      default:
        return false
    }
  }
  const [latest] = lane.workspace.chats
    .filter((row) => row.lane === lane && row.mode === mode && isOpen(row) && isMeant(row))
    .toSorted((a, b) => b.chat.activity - a.chat.activity)
  return latest
}

/** Notes in which chat a message left, and moves that chat. */
export const enterChat = (tables: Tables, row: MessageRow): void => {
  const chat = findChat(tables, row)
  if (chat === undefined) return
  row.chat = chat
  chat.chat = {
    ...chat.chat,
    lastSentAt: Math.max(chat.chat.lastSentAt ?? 0, row.message.sentAt ?? 0) || null,
    activity: ++tables.lastChatActivity,
  }
}
