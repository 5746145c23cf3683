/** Conversations. */
import type { ConversationSettings } from "@messaging-service/core"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"

const someSettings = (c: Chooser): ConversationSettings => ({
  groups: c.once(2),
  retentionDays: c.one([30, 1, 365]),
  media: c.one(["on_arrival", "on_demand", "off"]),
  maxFileBytes: c.one([16_777_216, 1]),
  maxStorageBytes: c.one([5_368_709_120, 0]),
  holdNewChats: c.once(2),
  since: c.now,
})

export const ofChats: Methods<"chats"> = {
  conversations: { weight: 1, input: (c) => [c.workspaceId()] },
  putConversations: { weight: 4, input: (c) => [c.workspaceId(), someSettings(c)] },
  deleteConversations: { weight: 1, input: (c) => [c.workspaceId()] },
}
