/** Turns conversations of a workspace on and off (contract: Conversations). */
import { Clock, Context, Effect, Layer } from "effect"
import { conversationSettings, decodeConversations } from "../model/Conversation.ts"
import type { SetConversations } from "../model/Conversation.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { refuse } from "../model/Refusal.ts"
import type { Failure } from "../model/Refusal.ts"
import type { Role } from "../model/Workspace.ts"
import type { StoredConversations } from "../store/ChatStore.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { Store } from "../store/Store.ts"
import { makeReceivedErasure } from "./Chats.ts"
import { Workspaces } from "./Workspaces.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

/** Makes what says whether a workspace has them, for what counts only then: nothing else asks the store. */
export const makeConversationCheck = Effect.gen(function* makeConversationCheck() {
  const { chats } = yield* Store
  return (matters: boolean, workspaceId: WorkspaceId) =>
    matters
      ? Effect.map(chats.conversations(workspaceId), (settings) => settings !== null)
      : Effect.succeed(false)
})

export class Conversations extends Context.Service<
  Conversations,
  {
    /** GET …/conversations. Fails with `conversations_not_enabled` while they are off. */
    get(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<StoredConversations, Failure<WorkspaceCode | "conversations_not_enabled">>
    /** PUT …/conversations: turns them on, or replaces all their settings. */
    put(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: SetConversations,
    ): Effect.Effect<StoredConversations, Failure<WorkspaceCode | "validation_failed">>
    /** DELETE …/conversations: off at once, and what was received is erased. Fails with `conversations_not_enabled`. */
    remove(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<void, Failure<WorkspaceCode | "conversations_not_enabled">>
  }
>()("core/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function* make() {
      const { chats } = yield* Store
      const workspaces = yield* Workspaces
      const erase = yield* makeReceivedErasure
      const off = refuse("conversations_not_enabled")
      const { wake } = yield* WakeUp
      // What waited for new chats may leave, or begins to wait for a known time.
      const wakeLanes = Effect.andThen(wake("lanes"), wake("pauses"))
      return Conversations.of({
        get: Effect.fn("Conversations.get")(function* get(role, id) {
          const workspace = yield* workspaces.within(role, id, "conversations")
          return (yield* chats.conversations(workspace.id)) ?? (yield* off)
        }),
        put: Effect.fn("Conversations.put")(function* put(role, id, command) {
          const workspace = yield* workspaces.within(role, id, "conversations")
          const input = yield* Effect.fromResult(decodeConversations(command))
          const settings = conversationSettings(input, yield* Clock.currentTimeMillis)
          const stored = yield* commitAndWake(
            chats.putConversations(workspace.id, settings),
            wakeLanes,
          )
          return stored ?? (yield* refuse("workspace_not_found"))
        }),
        remove: Effect.fn("Conversations.remove")(function* remove(role, id) {
          const workspace = yield* workspaces.within(role, id, "conversations")
          const now = yield* Clock.currentTimeMillis
          const isOff = yield* commitAndWake(
            chats.deleteConversations(workspace.id, now),
            wakeLanes,
          )
          if (!isOff) return yield* off
          yield* erase(workspace.id)
        }),
      })
    }),
  )
}
