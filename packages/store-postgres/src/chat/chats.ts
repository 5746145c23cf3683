/** Conversations: their settings. */
import type { ChatStore, ConversationSettings } from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

const getSettings = statement("conversation.get")
const putSettings = statement("put_conversations")
const deleteSettings = statement("conversation.delete")

const toConversations = (row: Row<"conversation.get"> | Row<"put_conversations">) => ({
  groups: row.groups,
  retentionDays: row.retention_days,
  media: row.media as ConversationSettings["media"],
  maxFileBytes: Number(row.max_file_bytes),
  maxStorageBytes: Number(row.max_storage_bytes),
  holdNewChats: row.hold_new_chats,
  since: row.since.getTime(),
  // Nothing is received yet.
  stored: { messages: 0, bytes: 0, oldestAt: null },
})

export const chatStore = (database: DatabaseService): ChatStore => ({
  conversations(workspaceId) {
    return getSettings.first(database, { workspaceId }, toConversations)
  },
  putConversations(workspaceId, settings) {
    return putSettings.first(database, { workspaceId, ...settings }, toConversations)
  },
  deleteConversations(workspaceId) {
    return deleteSettings.any(database, { workspaceId })
  },
})
