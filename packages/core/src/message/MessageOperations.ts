/** What an operator does with a message of a workspace (contract: Workspace messages). */
import { Context, Effect, Layer } from "effect"
import type { Failure } from "../error/Refusal.ts"
import type { MessageId, WorkspaceId } from "../Ids.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import type { Message } from "./Message.ts"
import { Messages } from "./Messages.ts"

export class MessageOperations extends Context.Service<
  MessageOperations,
  {
    /**
     * DELETE /workspaces/{id}/messages/{message_id}: as `Messages.cancel`. Fails with
     * `message_not_found`, `not_cancellable`.
     */
    cancel(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: MessageId | undefined,
    ): Effect.Effect<Message, Failure>
  }
>()("core/MessageOperations") {
  static readonly layer = Layer.effect(
    MessageOperations,
    Effect.gen(function* () {
      const messages = yield* Messages
      const workspaces = yield* Workspaces
      return MessageOperations.of({
        cancel: Effect.fn("MessageOperations.cancel")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "workspace")
          return yield* messages.cancelIn(workspace.id, id)
        }),
      })
    }),
  )
}
