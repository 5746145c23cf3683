/**
 * A workspace: what owns keys, numbers, contacts and messages; and its plan, which says how many
 * messages it may still accept and which features it has.
 */
import type { WorkspaceId } from "../id/Ids.ts"

export interface Plan {
  readonly name: string
  /** Messages that may still be accepted; null for unlimited. */
  readonly messagesRemaining: number | null
  readonly reminders: boolean
  readonly qrCodeApi: boolean
  /** How many numbers the workspace may hold; null for unlimited. */
  readonly maxNumbers: number | null
  readonly mediaStorageBytes: number
}

/** What a workspace gets when its maker names no plan (operator API). */
export const unlimitedPlan: Plan = {
  name: "Unlimited",
  messagesRemaining: null,
  reminders: true,
  qrCodeApi: true,
  maxNumbers: null,
  mediaStorageBytes: 1_073_741_824,
}

export interface Workspace {
  readonly id: WorkspaceId
  readonly name: string
  readonly demo: boolean
  readonly accountDisabled: boolean
  readonly apiV2Enabled: boolean
  /** Null when the workspace has no active plan: nothing included, no messages left. */
  readonly plan: Plan | null
  readonly createdAt: number
  readonly deletedAt: number | null
}

/** The integer that version 1 clients send as `client_id`: the workspace's id. */
export const clientId = (workspace: Workspace): number => workspace.id

/** Messages the workspace may still accept; null for unlimited, 0 without a plan. */
export const messagesRemaining = (plan: Plan | null): number | null =>
  plan === null ? 0 : plan.messagesRemaining

/** Why a workspace cannot use an API at all, in the order in which it is checked. */
export type WorkspaceRefusal =
  | "api_key_revoked"
  | "account_disabled"
  | "demo_account"
  | "api_v2_not_enabled"

/** The refusal of version 2 for this workspace, if any (decisions: order of checks). */
export const refusalV2 = (
  workspace: Pick<Workspace, "deletedAt" | "accountDisabled" | "demo" | "apiV2Enabled">,
): WorkspaceRefusal | undefined => {
  if (workspace.deletedAt !== null) return "api_key_revoked"
  if (workspace.accountDisabled) return "account_disabled"
  if (workspace.demo) return "demo_account"
  if (!workspace.apiV2Enabled) return "api_v2_not_enabled"
  return undefined
}
