/** What the store keeps of conversations (contract: Conversations). */
import type { Effect } from "effect"
import type { ConversationSettings, ReceivedStorage } from "../model/Conversation.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"

/** Settings with what is kept under them. */
export interface StoredConversations extends ConversationSettings {
  readonly stored: ReceivedStorage
}

export interface ChatStore {
  /** Null while they are off, and for an unknown or deleted workspace. */
  conversations(
    workspaceId: WorkspaceId,
  ): Effect.Effect<StoredConversations | null, StoreUnavailable>
  /**
   * Turns conversations on, or replaces their settings; `since` stays while they are on. Every change
   * that commits later announces itself. Null when the workspace is unknown or deleted.
   */
  putConversations(
    workspaceId: WorkspaceId,
    settings: ConversationSettings,
  ): Effect.Effect<StoredConversations | null, StoreUnavailable>
  /** Turns them off; false when they are off. */
  deleteConversations(workspaceId: WorkspaceId): Effect.Effect<boolean, StoreUnavailable>
}
