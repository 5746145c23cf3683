/** A caller without a key, for benchmarks that skip authentication. */
import { Caller } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { aStoredWorkspace } from "@messaging-service/testkit"

export const toCaller = (workspace: { readonly id: number }): Caller =>
  Caller.trusted(aStoredWorkspace({ id: workspace.id as WorkspaceId }))
