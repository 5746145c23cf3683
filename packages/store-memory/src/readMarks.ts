/** How far chats are read, and what remotes know of it, in memory. */
import { isOwned } from "@messaging-service/core"
import type { Owned } from "@messaging-service/core"
import { chatIn, current, isOpen, isReadable } from "./chatRows.ts"
import { countUnread, messagesBehind, setMarkDue } from "./chats.ts"
import type { ReadMarkSteps } from "./chats.ts"
import { earliest } from "./collections.ts"
import { standing } from "./lanes.ts"
import { finishClaim, findLane, isLost } from "./tables.ts"
import type { ChatRow, Tables } from "./tables.ts"

/** Chats with a remote that can learn of the mark now. */
const connectedMarks = (tables: Tables, owned: Owned): ReadonlyArray<ChatRow> =>
  [...tables.unmarked].filter(
    (row) =>
      isOpen(row) &&
      standing(row.lane).connected &&
      row.lane.workspace.conversations !== null &&
      isOwned(row.lane.number.id, owned),
  )

export const nextReadMarkDue = (tables: Tables, owned: Owned): number | null =>
  earliest(connectedMarks(tables, owned).map(({ markDue }) => markDue))

/** Messages of one mark. */
const mostMessages = 100

export const readMarkSteps = (tables: Tables): ReadMarkSteps => ({
  markRead: (scope, id, upTo, now, claim) => {
    if (isLost(tables, claim)) return { _tag: "Refused", guard: "idempotency" }
    const found = chatIn(tables, scope, id)
    if (found === null) return { _tag: "Refused", guard: "chat" }
    const row = current(tables, found)
    const message = tables.received.get(upTo)
    if (message?.chat !== row || !isReadable(message)) {
      return { _tag: "Refused", guard: "message" }
    }
    if (upTo > (row.chat.readUpTo ?? 0)) {
      row.chat = { ...row.chat, readUpTo: upTo }
      row.chat = { ...row.chat, unread: countUnread(row) }
      setMarkDue(tables, row, row.mode === "live" ? now : null)
    }
    const readUpTo = row.chat.readUpTo ?? upTo
    finishClaim(tables, claim, [id, readUpTo])
    return { _tag: "Marked", upTo: readUpTo }
  },

  claimReadMarks: (now, until, owned, limit) =>
    connectedMarks(tables, owned)
      .filter(({ markDue }) => markDue !== null && markDue <= now)
      .toSorted((a, b) => (a.markDue ?? 0) - (b.markDue ?? 0) || a.chat.id - b.chat.id)
      .slice(0, limit)
      .flatMap((row) => {
        const { chat, group, lane, person, marked } = row
        const { readUpTo } = chat
        setMarkDue(tables, row, until)
        return readUpTo === null
          ? []
          : {
              chatId: chat.id,
              numberId: lane.number.id,
              platform: lane.number.platform,
              upTo: readUpTo,
              group,
              person: person?.known ?? null,
              messages: messagesBehind(row, marked.upTo)
                .filter(({ message }) => message.id <= readUpTo)
                .slice(0, mostMessages)
                .map(({ address, remoteId }) => ({ remoteId, address })),
            }
      }),

  settleReadMark: ({ at, chatId, upTo }) => {
    const row = tables.chats.get(chatId)
    if (row === undefined || row.markDue === null) return
    row.marked = { upTo, at }
    if ((row.chat.readUpTo ?? 0) <= upTo) setMarkDue(tables, row, null)
  },

  postponeReadMark: (id, until) => {
    const row = tables.chats.get(id)
    if (row !== undefined && row.markDue !== null) setMarkDue(tables, row, until)
  },

  settledReadMarks: (numberId) =>
    (findLane(tables, numberId)?.workspace.chats ?? [])
      .filter((row) => row.lane.number.id === numberId && isOpen(row))
      .flatMap(({ chat, marked: { at, upTo } }) =>
        at === null || upTo === null ? [] : { chatId: chat.id, upTo, at },
      )
      .toSorted((a, b) => b.at - a.at || b.chatId - a.chatId),
})
