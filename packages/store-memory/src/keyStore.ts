/** `KeyStore` in memory. */
import {
  countRequest,
  dayMillis,
  holdsAllKeys,
  isCounted,
  minuteMillis,
} from "@messaging-service/core"
import type { AdmitQuery, AdmitV1Query, KeyStore, RequestCount } from "@messaging-service/core"
import { stop } from "./deliveryQueue.ts"
import type { Steps } from "./collections.ts"
import type { KeyRow, WorkspaceRow, Tables } from "./tables.ts"

const hashKey = (version: number, hash: string) => `${version} ${hash}`

/** Counts the request in both windows and notes its time and address, if it is to be counted. */
const count = (row: KeyRow, owner: WorkspaceRow, query: AdmitQuery): RequestCount | null => {
  const { key } = row
  if (!isCounted(owner.admits.v2, key, null, query.now)) return null
  row.minute = countRequest(row.minute, query.minuteStart, minuteMillis)
  row.day = countRequest(row.day, query.dayStart, dayMillis)
  row.key = { ...key, lastUsedAt: query.now, lastUsedIp: query.clientAddress }
  return { minute: row.minute.count, day: row.day.count }
}

/** As `count`, in the minute that the workspace's keys share. */
const countV1 = (row: KeyRow, owner: WorkspaceRow, query: AdmitV1Query): number | null => {
  if (!isCounted(owner.admits.v1, row.key, query.workspaceId, query.now)) return null
  owner.minuteV1 = countRequest(owner.minuteV1, query.minuteStart, minuteMillis)
  row.key = { ...row.key, lastUsedAt: query.now, lastUsedIp: query.clientAddress }
  return owner.minuteV1.count
}

const admitted = <Query extends AdmitV1Query | AdmitQuery, Count>(
  tables: Tables,
  version: number,
  query: Query,
  countIn: (row: KeyRow, owner: WorkspaceRow, query: Query) => Count,
) => {
  const row = tables.keysByHash.get(hashKey(version, query.hash))
  const owner = row === undefined ? undefined : tables.workspaces.get(row.key.workspaceId)
  if (row === undefined || owner === undefined) return null
  // Counting notes the key's use, which the answer shows.
  const requests = countIn(row, owner, query)
  return { key: row.key, workspace: owner.workspace, count: requests }
}

export const keyStore = (tables: Tables): Steps<typeof KeyStore.Service> => ({
  admit: (query) => admitted(tables, query.version, query, count),

  admitV1: (query) => admitted(tables, 1, query, countV1),

  insert: ({ hash, ...given }, limit) => {
    const owner = tables.workspaces.get(given.workspaceId)
    if (owner === undefined) return null
    const keys = owner.keys.map(({ key }) => key)
    if (holdsAllKeys(keys, given.version, limit)) return null
    const row = tables.keys.insert((id): KeyRow => ({
      key: { ...given, id, lastUsedAt: null, lastUsedIp: null, revokedAt: null },
      hash,
      minute: { start: Number.NaN, count: 0 },
      day: { start: Number.NaN, count: 0 },
    }))
    owner.keys.push(row)
    tables.keysByHash.set(hashKey(given.version, hash), row)
    return row.key
  },

  list: (workspaceId) => (tables.workspaces.get(workspaceId)?.keys ?? []).map((row) => row.key),

  revoke: (workspaceId, id, now) => {
    const row = tables.keys.get(id)
    if (row === undefined || row.key.workspaceId !== workspaceId) return null
    if (row.key.revokedAt === null) row.key = { ...row.key, revokedAt: now }
    for (const endpoint of tables.workspaces.get(workspaceId)?.endpoints ?? []) {
      if (endpoint.endpoint.keyId === id) stop(tables, endpoint, "key_revoked")
    }
    return row.key
  },
})
