/**
 * The secret that signs a workspace's callbacks, one for all of them, and its change by the
 * operator (contract: Callback secret). Every workspace has one from the start: until it is
 * changed, it is made from the workspace's id and the service's own key.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../Ids.ts"
import { described } from "../request/Described.ts"
import { SigningSecrets } from "../webhook/signature.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"

/** What signs a workspace's callbacks (contract: Callback secret). */
export const CallbackSecretJson = Schema.Struct({
  secret: described(Schema.String, "64 hexadecimal characters that sign version 1 callbacks."),
}).annotate({ identifier: "CallbackSecret" })

export type CallbackSecretJson = typeof CallbackSecretJson.Type

/** The salt of a workspace's secret; `stored` is null until the secret is changed. */
export const callbackSalt = (workspaceId: WorkspaceId, stored: string | null): string =>
  stored ?? `callbacks of workspace ${workspaceId}`

/** The port that keeps what the secrets of callbacks are made from. It holds no rule. */
export class CallbackSalts extends Context.Service<
  CallbackSalts,
  {
    /** The workspace's; null while none was ever put, and for an unknown or deleted workspace. */
    get(workspaceId: WorkspaceId): Effect.Effect<string | null, StoreUnavailable>
    /**
     * Replaces it: attempts claimed from now on are signed with the new one. False when the workspace
     * is unknown or deleted.
     */
    put(workspaceId: WorkspaceId, salt: string): Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/CallbackSalts") {}

export class CallbackSecrets extends Context.Service<
  CallbackSecrets,
  {
    /** GET /workspaces/{id}/callback-secret. */
    get(role: Role, id: WorkspaceId | undefined): Effect.Effect<CallbackSecretJson, Failure>
    /** POST /workspaces/{id}/callback-secret/rotate: the old secret stops working at once. */
    rotate(role: Role, id: WorkspaceId | undefined): Effect.Effect<CallbackSecretJson, Failure>
  }
>()("core/CallbackSecrets") {
  static readonly layer = Layer.effect(
    CallbackSecrets,
    Effect.gen(function* () {
      const salts = yield* CallbackSalts
      const secrets = (yield* SigningSecrets).callbacks
      const workspaces = yield* Workspaces

      return CallbackSecrets.of({
        get: Effect.fn("CallbackSecrets.get")(function* (role, id) {
          const { id: workspaceId } = yield* workspaces.within(role, id, "webhooks")
          const salt = callbackSalt(workspaceId, yield* salts.get(workspaceId))
          return { secret: secrets.of(salt) }
        }),
        rotate: Effect.fn("CallbackSecrets.rotate")(function* (role, id) {
          const { id: workspaceId } = yield* workspaces.within(role, id, "webhooks")
          const { salt, secret } = yield* secrets.make
          if (!(yield* salts.put(workspaceId, salt))) return yield* refuse("workspace_not_found")
          return { secret }
        }),
      })
    }),
  )
}
