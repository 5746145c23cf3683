/** What is in a chat, in both directions. */
import type { ChatEntry, ChatStore, EntryPlace, MessageId } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { beyondIds, statement } from "../database/Sql.ts"
import { toMessage } from "../message/toMessage.ts"
import { toReceived } from "./rows.ts"

const getChat = statement("received.chat")
const listPlaces = statement("received.entries", { literal: "limit" })
const receivedByIds = statement("received.byIds")
const messagesByIds = statement("message.byIds")

/** Ids before those of the same moment; sent ones come before received ones. */
const toBounds = (behind: EntryPlace | null) => ({
  at: behind?.at ?? Infinity,
  receivedBefore: behind === null || behind.isSent ? beyondIds : behind.id,
  sentBefore: behind === null ? beyondIds : behind.isSent ? behind.id : 0,
})

export const entryMethods = (database: DatabaseService): Pick<ChatStore, "listEntries"> => ({
  listEntries: Effect.fnUntraced(function* listEntries(scope, id, behind, limit) {
    const { mode, restriction: numbers, workspaceId } = scope
    const [chat] = yield* getChat.rows(database, { workspaceId, mode, numbers, id })
    if (chat === undefined) return null
    const chatId = Number(chat.merged_into ?? chat.id)
    const params = { chatId, ...toBounds(behind), limit: limit + 1 }
    const rows = yield* listPlaces.list(database, workspaceId, params)
    const found = rows.slice(0, limit).map((row): EntryPlace => ({
      at: row.at.getTime(),
      isSent: row.is_sent,
      id: Number(row.id),
    }))
    const getIds = (isSent: boolean) =>
      found.filter((place) => place.isSent === isSent).map((place) => place.id)
    const received = yield* receivedByIds.all(database, { ids: getIds(false) }, toReceived)
    const messages = yield* messagesByIds.all(database, { ids: getIds(true) }, toMessage)
    const receivedById = new Map<number, (typeof received)[number]>(
      received.map((one) => [one.id, one]),
    )
    const messagesById = new Map<number, (typeof messages)[number]>(
      messages.map((one) => [one.id as MessageId, one]),
    )
    // What was erased in between is left out.
    const items = found.flatMap(({ at, id: of, isSent }): ChatEntry | [] => {
      const message = isSent ? (messagesById.get(of) ?? null) : null
      const receivedMessage = isSent ? null : (receivedById.get(of) ?? null)
      return message === null && receivedMessage === null ? [] : { at, receivedMessage, message }
    })
    return { items, next: rows[limit] === undefined ? null : (found.at(-1) ?? null) }
  }),
})
