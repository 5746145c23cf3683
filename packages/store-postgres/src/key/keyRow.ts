/** An API key as its table keeps it; its last use stands with its windows. */
import type { ApiKey, KeyId, Mode, NumberId, Scope, WorkspaceId } from "@messaging-service/core"

export interface KeyRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly version: number
  readonly name: string
  readonly mode: string
  readonly scopes: ReadonlyArray<string>
  readonly number_ids: ReadonlyArray<bigint> | null
  readonly expires_at: Date | null
  readonly last4: string
  readonly created_at: Date
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
  readonly last_used_ip: string | null
}

/** Columns of the table `api_keys`, with their types as functions return them. */
const columns = {
  id: "bigint",
  workspace_id: "bigint",
  version: "smallint",
  name: "text",
  mode: "text",
  scopes: "text[]",
  number_ids: "bigint[]",
  expires_at: "timestamptz",
  last4: "text",
  created_at: "timestamptz",
  revoked_at: "timestamptz",
} as const

/** The columns of a `KeyRow`, from the tables of a key and of its windows. */
export const keyColumns = (key: string, windows: string): string =>
  [
    ...Object.keys(columns).map((name) => `${key}.${name}`),
    `${windows}.last_used_at`,
    `${windows}.last_used_ip`,
  ].join(", ")

/** Whether the core's `keyRefusal` has nothing against the key. */
export const isUsable = (key: string, now: string): string =>
  `(${key}.revoked_at is null and (${key}.expires_at is null or ${key}.expires_at > ${now}))`

/** The same as the result of a function. */
export const keyResult: string = [
  ...Object.entries(columns).map(([name, type]) => `${name} ${type}`),
  "last_used_at timestamptz",
  "last_used_ip text",
].join(", ")

const millis = (date: Date | null): number | null => (date === null ? null : date.getTime())

export const toKey = (row: KeyRow): ApiKey => ({
  id: Number(row.id) as KeyId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  version: row.version === 1 ? 1 : 2,
  name: row.name,
  mode: row.mode as Mode,
  scopes: row.scopes as ReadonlyArray<Scope>,
  numberIds: row.number_ids === null ? null : row.number_ids.map((id) => Number(id) as NumberId),
  expiresAt: millis(row.expires_at),
  last4: row.last4,
  createdAt: row.created_at.getTime(),
  lastUsedAt: millis(row.last_used_at),
  lastUsedIp: row.last_used_ip,
  revokedAt: millis(row.revoked_at),
})
