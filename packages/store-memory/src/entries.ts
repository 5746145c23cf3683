/** What is in chats in both directions, in memory. */
import type { ChatEntry, ChatStore, EntryPlace } from "@messaging-service/core"
import { chatIn, current, isReadable } from "./chatRows.ts"
import { toReceived } from "./chats.ts"
import type { Steps } from "./collections.ts"
import { toMessage } from "./tables.ts"
import type { Tables } from "./tables.ts"

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
