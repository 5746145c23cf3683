/** What left in chats, and what is in them in both directions, in memory. */
import { toTarget } from "@messaging-service/core"
import type { ChatEntry, ChatStore, EntryPlace } from "@messaging-service/core"
import { chatIn, current, isOpen, isReadable } from "./chatRows.ts"
import { toReceived } from "./chats.ts"
import type { Steps } from "./collections.ts"
import { toMessage } from "./tables.ts"
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

/** Negative when `a` comes first: the later one. */
const compareEntries = (a: EntryPlace, b: EntryPlace): number =>
  b.at - a.at || Number(b.isSent) - Number(a.isSent) || b.id - a.id

type Placed = EntryPlace & { readonly show: () => ChatEntry }

export const entrySteps = (tables: Tables): Pick<Steps<ChatStore>, "listEntries"> => ({
  listEntries: (scope, id, behind, limit) => {
    const named = chatIn(tables, scope, id)
    if (named === null) return null
    const chat = current(tables, named)
    const { received, workspace: owner } = chat.lane
    const receivedEntries = received.flatMap((row): Placed | [] => {
      const { message } = row
      const at = message.receivedAt
      if (row.chat !== chat || !isReadable(row)) return []
      const show = () => ({ at, receivedMessage: toReceived(row), message: null })
      return { at, isSent: false, id: message.id, show }
    })
    const sent = owner.messages[chat.mode].flatMap((row): Placed | [] => {
      const { id: messageId, sentAt: at } = row.message
      if (at === null || row.chat === null || current(tables, row.chat) !== chat) return []
      const show = () => ({ at, receivedMessage: null, message: toMessage(row) })
      return { at, isSent: true, id: messageId, show }
    })
    const entries = [...receivedEntries, ...sent]
      .filter((entry) => behind === null || compareEntries(behind, entry) < 0)
      .toSorted(compareEntries)
    const page = entries.slice(0, limit)
    const last = page.at(-1)
    const next =
      last === undefined || entries[limit] === undefined
        ? null
        : { at: last.at, isSent: last.isSent, id: last.id }
    return { items: page.map(({ show }) => show()), next }
  },
})
