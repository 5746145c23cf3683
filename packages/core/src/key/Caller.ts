/**
 * Who asks for an operation, as plain data that every service reads: made from a key by admission, or
 * by an embedder's own word. And the gate at which every operation of a caller begins: one table says
 * what each needs, and services and adapters ask it alike.
 */
import { Effect } from "effect"
import type { Brand } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { WorkspaceId } from "../Ids.ts"
import type { Mode, Workspace } from "../workspace/Workspace.ts"
import { scopes } from "./ApiKey.ts"
import type { ApiKey, Restriction, Scope } from "./ApiKey.ts"

/** For whom a message is accepted: a caller, or a reminder that sends by itself. */
export interface Sender {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** The numbers it is limited to; null for all, later ones included. */
  readonly numberIds: Restriction
}

/** Lasts for one request: what it holds of the workspace is as it was when the caller was made. */
export interface Caller extends Sender {
  readonly workspace: Workspace
  readonly scopes: ReadonlyArray<Scope>
  /** Null for a caller that the embedding program vouches for. */
  readonly key: ApiKey | null
}

/** A caller that admission let in with a key. */
export interface KeyCaller extends Caller {
  readonly key: ApiKey
}

/** What an embedder may say of a caller; all that is left out is allowed. */
export interface Trust {
  readonly mode?: Mode
  readonly scopes?: ReadonlyArray<Scope>
  readonly numberIds?: Restriction
}

export const Caller = {
  /** The caller with this key. Whether the key is good was asked before (`Admission`). */
  ofKey: (key: ApiKey, workspace: Workspace): KeyCaller => ({
    workspaceId: key.workspaceId,
    mode: key.mode,
    numberIds: key.numberIds,
    workspace,
    scopes: key.scopes,
    key,
  }),

  /**
   * A caller without a key: the program that runs the core vouches for it. Live and unlimited unless
   * said otherwise. Rates are not counted, and a disabled workspace is not refused.
   */
  trusted: (workspace: Workspace, trust: Trust = {}): Caller => ({
    workspaceId: workspace.id,
    mode: trust.mode ?? "live",
    numberIds: trust.numberIds ?? null,
    workspace,
    scopes: trust.scopes ?? scopes,
    key: null,
  }),
} as const

/**
 * Whose idempotency keys a caller uses: its key's, by the key's id; without a key those of the
 * workspace's mode, by a number below zero, which no key has.
 */
export const claimantOf = ({ key, mode, workspaceId }: Caller): number =>
  key?.id ?? claimantWithoutKey(workspaceId, mode)

const claimantWithoutKey = (workspaceId: WorkspaceId, mode: Mode): number =>
  -(2 * workspaceId + (mode === "test" ? 1 : 0))

/** All of a workspace's that have no key. */
export const claimantsWithoutKey = (workspaceId: WorkspaceId): ReadonlyArray<number> => [
  claimantWithoutKey(workspaceId, "live"),
  claimantWithoutKey(workspaceId, "test"),
]

/** What an operation asks of its caller. */
export interface OperationRule {
  /** The scope that is needed; null when any caller will do. */
  readonly scope: Scope | null
  /** Whether callers that are limited to some numbers are refused. */
  readonly unlimitedOnly: boolean
}

const needs = (scope: Scope): OperationRule => ({ scope, unlimitedOnly: false })
const ofWebhooks: OperationRule = { ...needs("messages:read"), unlimitedOnly: true }

/** Every operation of callers (contract: Operations of version 2). */
export const operations = {
  getKeyInfo: { scope: null, unlimitedOnly: false },
  sendMessage: needs("messages:send"),
  sendBatch: needs("messages:send"),
  listMessages: needs("messages:read"),
  getMessage: needs("messages:read"),
  cancelMessage: needs("messages:send"),
  createReminder: needs("reminders"),
  listReminders: needs("reminders"),
  getReminder: needs("reminders"),
  updateReminder: needs("reminders"),
  deleteReminder: needs("reminders"),
  listNumbers: needs("numbers"),
  getNumber: needs("numbers"),
  connectNumber: needs("numbers"),
  createWebhook: ofWebhooks,
  listWebhooks: ofWebhooks,
  getWebhook: ofWebhooks,
  deleteWebhook: ofWebhooks,
  rotateWebhookSecret: ofWebhooks,
  testWebhook: ofWebhooks,
  uploadMedia: needs("media"),
  listMedia: needs("media"),
  getMedia: needs("media"),
  deleteMedia: needs("media"),
  createNumberCheck: needs("contacts"),
  listNumberChecks: needs("contacts"),
  getNumberCheck: needs("contacts"),
  listNumberCheckResults: needs("contacts"),
} as const satisfies Readonly<Record<string, OperationRule>>

export type OperationName = keyof typeof operations

/** A caller whom the gate let through. What services read and write for a caller takes one of these. */
export type Permitted = Caller & Brand.Brand<"Permitted">

/**
 * The gate: the caller, let through to the operation. Fails with `missing_scope`, and with
 * `number_not_allowed` for a limited caller where only whole workspaces are dealt with.
 */
export const permit = (
  caller: Caller,
  operation: OperationName,
): Effect.Effect<Permitted, Refusal> => {
  const { scope, unlimitedOnly }: OperationRule = operations[operation]
  if (scope !== null && !caller.scopes.includes(scope)) {
    return Effect.fail(
      refuse("missing_scope", {
        message: `The key lacks the scope ${scope}.`,
        details: { required_scope: scope },
      }),
    )
  }
  if (unlimitedOnly && caller.numberIds !== null) {
    return Effect.fail(
      refuse("number_not_allowed", {
        message: "A key that is limited to some numbers cannot use webhook endpoints.",
      }),
    )
  }
  return Effect.succeed(caller as Permitted)
}

/** Whose records a caller sees: of these numbers, all when null. */
export interface CallerScope {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly restriction: Restriction
}

export const scopeOf = ({ mode, numberIds, workspaceId }: Permitted): CallerScope => ({
  workspaceId,
  mode,
  restriction: numberIds,
})
