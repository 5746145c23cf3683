/**
 * A workspace: owner of keys, numbers, contacts and messages; its plan of allowances and features;
 * and the roles for which the operator API can act (`Acting-Role`).
 */
import { Effect } from "effect"
import { refuse } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import type { WorkspaceId } from "./Ids.ts"

/** What keys of one mode make, those of the other do not see (contract: Test mode). */
export type Mode = "live" | "test"

export interface Plan {
  readonly name: string
  /** Messages that may still be accepted; null for unlimited. */
  readonly messagesRemaining: number | null
  /** Whether reminders are included. */
  readonly reminders: boolean
  /** Whether numbers can be connected through the API. */
  readonly qrCodeApi: boolean
  /** How many numbers the workspace may hold; null for unlimited. */
  readonly maxNumbers: number | null
  readonly mediaStorageBytes: number
}

/** What a workspace gets when its maker names no plan (contract: Workspaces). */
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
  /** Days after their end that its messages are erased; null for as long as the service keeps them. */
  readonly retentionDays: number | null
  readonly createdAt: number
  readonly deletedAt: number | null
}

/** The integer that version 1 clients send as `client_id`: the workspace's id. */
export const clientId = (workspace: Workspace): number => workspace.id

/** The workspace id of a `client_id`; 0, an id that no workspace has, for what cannot be one. */
export const workspaceOfClient = (value: number): WorkspaceId =>
  (Number.isSafeInteger(value) ? value : 0) as WorkspaceId

/** Messages the workspace may still accept; null for unlimited, 0 without a plan. */
export const messagesRemaining = (plan: Plan | null): number | null =>
  plan === null ? 0 : plan.messagesRemaining

/** Whether acceptance takes messages from the plan, and their end returns them. */
export const isLimited = (
  plan: Plan | null,
): plan is Plan & { readonly messagesRemaining: number } =>
  plan !== null && plan.messagesRemaining !== null

/** Whether so many messages may still be accepted. */
export const coversMessages = (plan: Plan | null, count: number): boolean =>
  (messagesRemaining(plan) ?? count) >= count

/** The plan with so many more messages, or fewer; one that is not limited stays as it is. */
export const withMessages = (plan: Plan | null, more: number): Plan | null =>
  isLimited(plan) ? { ...plan, messagesRemaining: plan.messagesRemaining + more } : plan

/** Why a workspace cannot use an API at all, in the order in which it is checked. */
export type WorkspaceRefusal =
  | "api_key_revoked"
  | "account_disabled"
  | "demo_account"
  | "api_v2_not_enabled"

/** Why a workspace accepts no message of any caller, and makes no run of a reminder. */
export const sendRefusal = (
  workspace: Pick<Workspace, "accountDisabled" | "demo">,
): "account_disabled" | "demo_account" | undefined => {
  if (workspace.accountDisabled) return "account_disabled"
  return workspace.demo ? "demo_account" : undefined
}

type Standing = Pick<Workspace, "deletedAt" | "accountDisabled" | "demo" | "apiV2Enabled">

/** The refusal of version 1 for this workspace, if any: version 2 may be switched off. */
export const refusalV1 = (
  workspace: Standing,
): Exclude<WorkspaceRefusal, "api_v2_not_enabled"> | undefined => {
  if (workspace.deletedAt !== null) return "api_key_revoked"
  return sendRefusal(workspace)
}

/** The refusal of version 2 for this workspace, if any (contract: Order of checks). */
export const refusalV2 = (workspace: Standing): WorkspaceRefusal | undefined =>
  refusalV1(workspace) ?? (workspace.apiV2Enabled ? undefined : "api_v2_not_enabled")

/** Whether requests with the workspace's keys count against their limits, for each version. */
export interface Admits {
  readonly v1: boolean
  readonly v2: boolean
}

/** Only what is not refused for the workspace's sake counts. */
export const admits = (workspace: Standing): Admits => ({
  v1: refusalV1(workspace) === undefined,
  v2: refusalV2(workspace) === undefined,
})

export const roles = ["owner", "administrator", "member"] as const

export type Role = (typeof roles)[number]

/** What needs a role. `reading`: all but keys, secrets, and the bodies that webhooks got. */
export type Duty =
  | "reading"
  | "workspace"
  | "portal_links"
  | "keys_v2"
  | "keys_v1"
  | "contacts"
  | "numbers"
  | "webhooks"
  | "reminders"
  | "messages"
  | "conversations"

const allowed: Readonly<Record<Duty, ReadonlyArray<Role>>> = {
  reading: ["owner", "administrator", "member"],
  workspace: ["owner"],
  portal_links: ["owner"],
  keys_v2: ["owner"],
  keys_v1: ["owner", "administrator"],
  contacts: ["owner", "administrator"],
  numbers: ["owner", "administrator"],
  webhooks: ["owner", "administrator"],
  reminders: ["owner", "administrator"],
  messages: ["owner", "administrator", "member"],
  conversations: ["owner", "administrator"],
}

export const may = (role: Role, duty: Duty): boolean => allowed[duty].includes(role)

/** Fails with `role_required`. */
export const requireRole = (
  role: Role,
  duty: Duty,
): Effect.Effect<void, Refusal<"role_required">> =>
  may(role, duty)
    ? Effect.void
    : Effect.fail(
        refuse("role_required", {
          message: `This takes one of these roles: ${allowed[duty].join(", ")}.`,
        }),
      )
