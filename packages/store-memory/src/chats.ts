/** `ChatStore` in memory. */
import { pausedUntil } from "@messaging-service/core"
import type { ChatStore, ConversationSettings } from "@messaging-service/core"
import type { Steps } from "./collections.ts"
import { findWorkspace } from "./tables.ts"
import type { Tables } from "./tables.ts"

/** Nothing is received yet. */
const withStored = (settings: ConversationSettings) => ({
  ...settings,
  stored: { messages: 0, bytes: 0, oldestAt: null },
})

export const chatStore = (tables: Tables): Steps<ChatStore> => ({
  conversations: (workspaceId) => {
    const settings = findWorkspace(tables, workspaceId)?.conversations ?? null
    return settings && withStored(settings)
  },

  putConversations: (workspaceId, settings) => {
    const owner = findWorkspace(tables, workspaceId)
    if (owner === undefined) return null
    if (owner.conversations === null) {
      // A pause from before is not reported; its end is.
      for (const lane of owner.lanes) {
        lane.isPauseReported = pausedUntil(lane.control.pauses.first, settings.since) !== null
      }
    }
    owner.conversations = { ...settings, since: owner.conversations?.since ?? settings.since }
    return withStored(owner.conversations)
  },

  deleteConversations: (workspaceId) => {
    const owner = findWorkspace(tables, workspaceId)
    if (owner === undefined || owner.conversations === null) return false
    owner.conversations = null
    return true
  },
})
