/** An API key as its table keeps it, and its windows, with which its last use stands. */
import { dayMillis, minuteMillis } from "@messaging-service/core"
import type { ApiKey, KeyId, NewKey, NumberId, WorkspaceId } from "@messaging-service/core"
import {
  bigint,
  bigints,
  columnsOf,
  instant,
  millis,
  selected,
  smallint,
  text,
  texts,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"

/** What is written of a new key, beside its hash. */
const newFields = {
  workspaceId: { workspace_id: bigint((key) => key.workspaceId) },
  version: { version: smallint((key) => key.version) },
  name: { name: text((key) => key.name) },
  mode: { mode: text((key) => key.mode) },
  scopes: { scopes: texts((key) => key.scopes) },
  numberIds: { number_ids: bigints((key) => key.numberIds) },
  expiresAt: { expires_at: instant((key) => key.expiresAt) },
  last4: { last4: text((key) => key.last4) },
  createdAt: { created_at: instant((key) => key.createdAt) },
} satisfies FieldsOf<Omit<NewKey, "hash">>

export const newColumns = {
  ...columnsOf(newFields),
  hash: text((key: NewKey) => key.hash),
}

const columns = columnsOf({
  id: { id: bigint((key) => key.id) },
  ...newFields,
  revokedAt: { revoked_at: instant((key) => key.revokedAt) },
} satisfies FieldsOf<Omit<ApiKey, "lastUsedAt" | "lastUsedIp">>)

const useColumns = columnsOf({
  lastUsedAt: { last_used_at: instant((key) => key.lastUsedAt) },
  lastUsedIp: { last_used_ip: text((key) => key.lastUsedIp) },
} satisfies FieldsOf<Pick<ApiKey, "lastUsedAt" | "lastUsedIp">>)

export type KeyRow = RowOf<typeof columns> & RowOf<typeof useColumns>

/** The columns of a `KeyRow`, from the tables of a key and of its windows. */
export const keyColumns = (key: string, windows: string): string =>
  `${selected(columns, key)}, ${selected(useColumns, windows)}`

export const toKey = (row: KeyRow): ApiKey => ({
  id: Number(row.id) as KeyId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  version: row.version,
  name: row.name,
  mode: row.mode,
  scopes: row.scopes,
  numberIds: row.number_ids === null ? null : row.number_ids.map((id) => Number(id) as NumberId),
  expiresAt: millis(row.expires_at),
  last4: row.last4,
  createdAt: row.created_at.getTime(),
  lastUsedAt: millis(row.last_used_at),
  lastUsedIp: row.last_used_ip,
  revokedAt: millis(row.revoked_at),
})

const lengths = { minute: minuteMillis, day: dayMillis }

/**
 * The core's `countRequest`, for an `on conflict do update` of a row called `windows`; the row `excluded`
 * says how many requests are counted. Start and count of the window after them.
 */
export const countedWindow = (window: "minute" | "day") => {
  const isPresent = `:code.is_in_same_window(
          windows.${window}_start, excluded.${window}_start, interval '${lengths[window]} milliseconds'
        )`
  return {
    start: `case
        when ${isPresent} then windows.${window}_start
        else excluded.${window}_start
      end`,
    count: `excluded.${window}_count + case
        when ${isPresent} then windows.${window}_count
        else 0
      end`,
  }
}
