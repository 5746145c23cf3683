/** A caller without a key, for rows that begin behind admission. */
import { Caller, unlimitedPlan } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"

const since = Date.UTC(2026, 0, 1)

export const callerOf = (held: { readonly id: number }): Caller =>
  Caller.trusted({
    id: held.id as WorkspaceId,
    name: "Workspace",
    demo: false,
    accountDisabled: false,
    apiV2Enabled: true,
    plan: unlimitedPlan,
    retentionDays: null,
    createdAt: since,
    deletedAt: null,
  })
