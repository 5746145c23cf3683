/** A caller as admission would give it, for rows that begin behind admission. */
import { scopes, unlimitedPlan } from "@messaging-service/core"
import type { Caller, KeyId, WorkspaceId } from "@messaging-service/core"

const since = Date.UTC(2026, 0, 1)

export const callerOf = (held: { readonly id: number; readonly firstKey: number }): Caller => ({
  key: {
    id: held.firstKey as KeyId,
    workspaceId: held.id as WorkspaceId,
    version: 2,
    name: "Key",
    mode: "live",
    scopes,
    numberIds: null,
    expiresAt: null,
    last4: "0000",
    createdAt: since,
    lastUsedAt: null,
    lastUsedIp: null,
    revokedAt: null,
  },
  workspace: {
    id: held.id as WorkspaceId,
    name: "Workspace",
    demo: false,
    accountDisabled: false,
    apiV2Enabled: true,
    plan: unlimitedPlan,
    createdAt: since,
    deletedAt: null,
  },
})
