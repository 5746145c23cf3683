/** The port that keeps what the secrets of callbacks are made from. It holds no rule. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../id/Ids.ts"

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
