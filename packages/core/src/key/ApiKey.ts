/** An API key: who may ask, for which workspace, in which mode, for what and from which numbers. */
import type { KeyId, NumberId, WorkspaceId } from "../id/Ids.ts"

/** In the contract's order, which is also the order of every answer. */
export const scopes = [
  "messages:send",
  "messages:read",
  "reminders",
  "numbers",
  "media",
  "contacts",
] as const

export type Scope = (typeof scopes)[number]

/** Test and live are two worlds of one workspace (contract: Test mode). */
export type Mode = "live" | "test"

export interface ApiKey {
  readonly id: KeyId
  readonly workspaceId: WorkspaceId
  readonly version: 1 | 2
  readonly name: string
  readonly mode: Mode
  readonly scopes: ReadonlyArray<Scope>
  /** The numbers it is limited to; null for all, later ones included. */
  readonly numberIds: ReadonlyArray<NumberId> | null
  readonly expiresAt: number | null
  readonly last4: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly lastUsedIp: string | null
  readonly revokedAt: number | null
}

/** Non-revoked keys of one version that a workspace may hold; expired ones count. */
export const keyLimit = 10

/** Why a key can no longer be used, if so; one that is both is said to be revoked. */
export const keyRefusal = (
  { expiresAt, revokedAt }: Pick<ApiKey, "expiresAt" | "revokedAt">,
  now: number,
): "api_key_revoked" | "api_key_expired" | undefined => {
  if (revokedAt !== null) return "api_key_revoked"
  return expiresAt !== null && expiresAt <= now ? "api_key_expired" : undefined
}

/** Whether the key may use the number. */
export const mayUse = (key: Pick<ApiKey, "numberIds">, number: NumberId): boolean =>
  key.numberIds === null || key.numberIds.includes(number)

/** What a limited key's reads are narrowed to; null for everything. */
export type Restriction = ReadonlyArray<NumberId> | null
