/** Conversations: their settings, chats and what was received. */
import { erasedAtOnce, getPage } from "@messaging-service/core"
import type {
  CallerScope,
  Chat,
  ChatId,
  ChatStore,
  ChatType,
  ConversationSettings,
  NumberId,
  Quote,
  ReceivedMessageId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { beyondIds, idOrNull, millis, statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { entryMethods } from "./entries.ts"
import { readMarkMethods } from "./readMarks.ts"
import { endCopyWaitsIn, receiveIn } from "./receive.ts"
import { getReceived, toPerson, toReceived } from "./rows.ts"

const getSettings = statement("conversation.get")
const putSettings = statement("put_conversations")
const deleteSettings = statement("delete_conversations")
const anySettings = statement("conversation.any")

const options = { literal: "limit" } as const
const receivedOfWorkspace = statement("received.ofWorkspace", options)
const receivedOfNumbers = statement("received.ofNumbers", options)
const receivedOfChat = statement("received.ofChat", options)
const receivedAfter = statement("received.after", options)
const chatsOfWorkspace = statement("received.chats", options)
const chatsOfNumbers = statement("received.chatsOfNumbers", options)
const chatsOfPhone = statement("received.chatsOfPhone", options)
const getChat = statement("received.chat")

const needsNoCopy = statement("needs_no_copy")
const quotedReceived = statement("received.quotedReceived")
const quotedSent = statement("received.quotedSent")
const deleteReceived = statement("delete_received")
const deleteChat = statement("delete_chat")
const eraseReceived = statement("erase_received")

const toConversations = (row: Row<"conversation.get">) => ({
  groups: row.groups,
  retentionDays: row.retention_days,
  media: row.media as ConversationSettings["media"],
  maxFileBytes: Number(row.max_file_bytes),
  maxStorageBytes: Number(row.max_storage_bytes),
  holdNewChats: row.hold_new_chats,
  since: row.since.getTime(),
  stored: {
    messages: Number(row.stored),
    bytes: Number(row.bytes),
    oldestAt: millis(row.oldest_at),
  },
})

const toChat = (row: Row<"received.chat">): Chat => ({
  id: Number(row.id) as ChatId,
  numberId: Number(row.number_id) as NumberId,
  type: row.type as ChatType,
  activity: Number(row.activity),
  ...toPerson(row),
  lastReceivedAt: millis(row.last_received_at),
  lastSentAt: millis(row.last_sent_at),
  unread: Number(row.unread),
  readUpTo: idOrNull<ReceivedMessageId>(row.read_up_to),
  mergedInto: idOrNull<ChatId>(row.merged_into),
})

const toQuote = (row: Row<"received.quotedReceived">): Quote => ({
  remoteId: row.remote_id,
  isSent: false,
  author: row.from_me ? null : toPerson(row),
  text: row.text,
  sentAt: row.sent_at.getTime(),
})

const toSentQuote = (row: Row<"received.quotedSent">): Quote => ({
  remoteId: row.transport_id,
  isSent: true,
  author: null,
  text: row.text,
  sentAt: millis(row.sent_at) ?? 0,
})

/** Which records may be read; `numbers` null: those of all. */
const toParams = (
  { mode, restriction, workspaceId }: CallerScope,
  numberId: NumberId | null = null,
) => ({
  workspaceId,
  mode,
  numbers:
    numberId === null
      ? restriction
      : restriction === null || restriction.includes(numberId)
        ? [numberId]
        : [],
})

type ReadMethods = Pick<
  ChatStore,
  "listReceived" | "receivedAfter" | "getReceived" | "listChats" | "getChat" | "quote"
>

const readMethods = (database: DatabaseService): ReadMethods => ({
  listReceived(scope, { chatId, kind, numberId, since, until }, { before, limit }) {
    const params = {
      ...toParams(scope, numberId),
      chatId,
      kind,
      since: since ?? -Infinity,
      until: until ?? Infinity,
      before: before ?? beyondIds,
      limit: limit + 1,
    }
    const { numbers, workspaceId } = params
    const rows =
      chatId !== null
        ? receivedOfChat.list(database, workspaceId, params)
        : numbers !== null
          ? receivedOfNumbers.list(database, workspaceId, params)
          : receivedOfWorkspace.list(database, workspaceId, params)
    return Effect.map(rows, (found) => getPage(found.map(toReceived), limit))
  },
  receivedAfter(scope, numberId, after, kind, limit) {
    const params = { ...toParams(scope), numberId, after, kind, limit }
    return Effect.map(receivedAfter.list(database, scope.workspaceId, params), (rows) =>
      rows.map(toReceived),
    )
  },
  getReceived(scope, id) {
    return getReceived.first(database, { ...toParams(scope), id }, toReceived)
  },
  listChats(scope, { numberId, phone, unread }, { before, limit }) {
    const params = {
      ...toParams(scope, numberId),
      phone,
      unread,
      before: before ?? beyondIds,
      limit: limit + 1,
    }
    const { numbers, workspaceId } = params
    const rows =
      phone !== null
        ? chatsOfPhone.list(database, workspaceId, params)
        : numbers !== null
          ? chatsOfNumbers.list(database, workspaceId, params)
          : chatsOfWorkspace.list(database, workspaceId, params)
    return Effect.map(rows, (found) => {
      const page = getPage(
        found.map((row) => ({ id: Number(row.activity), row })),
        limit,
      )
      return { items: page.items.map(({ row }) => toChat(row)), next: page.next }
    })
  },
  quote(numberId, replyTo) {
    return "receivedMessageId" in replyTo
      ? quotedReceived.first(database, { numberId, id: replyTo.receivedMessageId }, toQuote)
      : quotedSent.first(database, { numberId, id: replyTo.messageId }, toSentQuote)
  },
  getChat(scope, id) {
    return getChat.first(database, { ...toParams(scope), id }, toChat)
  },
})

export const chatStore = (database: DatabaseService, queued: DeliveriesQueued): ChatStore => ({
  ...readMethods(database),
  ...entryMethods(database),
  ...readMarkMethods(database),
  conversations(workspaceId) {
    return getSettings.first(database, { workspaceId }, toConversations)
  },
  anyConversations: Effect.map(anySettings.value(database, {}), (answer) => answer === true),
  putConversations(workspaceId, settings) {
    return Effect.flatMap(putSettings.any(database, { workspaceId, ...settings }), (isPut) =>
      isPut ? getSettings.first(database, { workspaceId }, toConversations) : Effect.succeed(null),
    )
  },
  deleteConversations(workspaceId, now) {
    return deleteSettings.isTrue(database, { workspaceId, now })
  },
  receive(numberId, received, now) {
    return Effect.gen(function* receive() {
      if (received.length === 0) return []
      const stored = yield* database.transaction("chats.receive", (run) =>
        receiveIn(run, numberId, received, now),
      )
      if (stored.queued) yield* queued.notify
      return stored.outcomes
    })
  },
  needsNoCopy(number, { fromMe, group, mode, person, remoteId }) {
    return needsNoCopy.isTrue(database, {
      number,
      remoteId,
      mode,
      fromMe,
      groupId: group?.remoteId ?? null,
      phone: person?.phone ?? null,
      lid: person?.lid ?? null,
      userId: person?.userId ?? null,
    })
  },
  endCopyWaits(now, eventIds) {
    return Effect.gen(function* endCopyWaits() {
      const { count, queued: areQueued } = yield* database.transaction(
        "chats.endCopyWaits",
        (run) => endCopyWaitsIn(run, eventIds, now),
      )
      if (areQueued) yield* queued.notify
      return count
    })
  },
  deleteReceived(scope, id, now) {
    return deleteReceived.isTrue(database, { ...toParams(scope), id, now })
  },
  deleteChat(scope, id, now) {
    return deleteChat.isTrue(database, { ...toParams(scope), id, now })
  },
  eraseReceived(erasure) {
    return eraseReceived.isTrue(database, { ...erasure, limit: erasedAtOnce })
  },
})
