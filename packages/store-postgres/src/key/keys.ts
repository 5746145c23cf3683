/** API keys and the counts of what is asked with them. */
import { countedInDay, dayMillis, minuteMillis, requestsPerMinute } from "@messaging-service/core"
import type {
  AdmitQuery,
  Admitted,
  AdmittedV1,
  AdmitV1Query,
  ApiKey,
  KeyId,
  KeyStore,
  NewKey,
  NumberId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { batched, batching } from "../database/Batcher.ts"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { toWorkspace } from "../workspace/workspaces.ts"

// An API key as its table keeps it, and its rate windows, which also hold its last use.

const toKey = (row: Row<"key.list">): ApiKey => ({
  id: Number(row.id) as KeyId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  version: row.version as ApiKey["version"],
  name: row.name,
  mode: row.mode as ApiKey["mode"],
  scopes: row.scopes as ApiKey["scopes"],
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

// Admission: finds a key and its workspace and counts the request, in one round trip. Requests that
// are admitted together and count in the same window count as one write of several.

export const admitStatement = statement("key.admit")

/** Requests that differ in nothing that is counted; the latest tells time and address of use. */
interface Group {
  readonly places: Array<number>
  latest: AdmitQuery
}

const toGroupElement = ({ latest, places }: Group): Element<"key.admit"> => ({
  hash: latest.hash,
  version: latest.version,
  now: latest.now,
  minuteStart: latest.minuteStart,
  dayStart: latest.dayStart,
  address: latest.clientAddress,
  count: places.length,
})

const admitAll = (database: DatabaseService) =>
  Effect.fnUntraced(function* admitBatch(queries: ReadonlyArray<AdmitQuery>) {
    const groups = getGroups(queries)
    const rows = yield* admitStatement.rows(database, {
      ...toColumns(groups.map(toGroupElement)),
      minuteLimit: requestsPerMinute,
    })
    const admitted = Array.from<Admitted | null>({ length: queries.length }).fill(null)
    for (const row of rows) {
      const positions = groups[Number(row.place) - 1]?.places ?? []
      for (const [index, position] of positions.entries()) {
        admitted[position] = toAdmitted(row, positions.length - 1 - index)
      }
    }
    return admitted
  })

const getGroups = (queries: ReadonlyArray<AdmitQuery>): ReadonlyArray<Group> => {
  const groups = new Map<string, Group>()
  for (const [position, query] of queries.entries()) {
    const { dayStart, hash, minuteStart, version } = query
    const key = `${hash} ${version} ${minuteStart} ${dayStart}`
    const group = groups.get(key)
    if (group === undefined) {
      groups.set(key, { places: [position], latest: query })
    } else {
      group.places.push(position)
      group.latest = query
    }
  }
  return [...groups].toSorted(byFirst).map(getSecond)
}

const byFirst = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1

const getSecond = <Second>([, second]: readonly [unknown, Second]): Second => second

/** `later`: how many of the requests that were counted together came after this one. */
const toAdmitted = (row: Row<"key.admit">, later: number): Admitted => ({
  key: toKey(row),
  workspace: toWorkspace(row),
  count:
    row.minute_count === null || row.day_count === null
      ? null
      : {
          minute: row.minute_count - later,
          day: row.day_count - countedInDay(row.minute_count, later),
        },
})

const admitStatementV1 = statement("key.admitV1")

const toQueryElement = (query: AdmitV1Query): Element<"key.admitV1"> => ({
  hash: query.hash,
  workspaceId: query.workspaceId,
  now: query.now,
  address: query.clientAddress,
})

const admitV1 = (database: DatabaseService) => (queries: ReadonlyArray<AdmitV1Query>) =>
  Effect.gen(function* () {
    const admitted: Array<AdmittedV1 | null> = queries.map(() => null)
    // One statement, but at the turn of a minute.
    for (const [minuteStart, batch] of byMinute(queries)) {
      const rows = yield* admitStatementV1.rows(database, {
        ...toColumns(batch.map(([, query]) => toQueryElement(query))),
        minuteStart,
      })
      const later = new Map<bigint, number>()
      for (const row of rows.toSorted((a, b) => Number(b.place - a.place))) {
        const [position, query] = batch[Number(row.place) - 1] ?? []
        if (position === undefined || query === undefined) continue
        const behind = later.get(row.workspace_id) ?? 0
        if (row.counts) later.set(row.workspace_id, behind + 1)
        admitted[position] = toAdmittedV1(row, query, behind)
      }
    }
    return admitted
  })

/** The queries of each minute, with their places; the earliest minute first. */
const byMinute = (queries: ReadonlyArray<AdmitV1Query>) =>
  [...Map.groupBy(queries.entries(), ([, { minuteStart }]) => minuteStart)].toSorted(
    ([a], [b]) => a - b,
  )

/** `later`: how many of the workspace's requests that were counted together came after this one. */
const toAdmittedV1 = (row: Row<"key.admitV1">, query: AdmitV1Query, later: number): AdmittedV1 => {
  const key = toKey(row)
  const counts = row.counts && row.minute_count !== null
  return {
    key: counts ? { ...key, lastUsedAt: query.now, lastUsedIp: query.clientAddress } : key,
    workspace: toWorkspace(row),
    count: counts && row.minute_count !== null ? row.minute_count - later : null,
  }
}

const lockWorkspace = statement("key.lockWorkspace")
const insertKey = statement("key.insert")
const listKeys = statement("key.list")
const revokeKey = statement("key.revoke")

const toNewKey = (key: NewKey, limit: number): Params<"key.insert"> => ({
  workspaceId: key.workspaceId,
  version: key.version,
  name: key.name,
  mode: key.mode,
  scopes: key.scopes,
  numberIds: key.numberIds,
  expiresAt: key.expiresAt,
  last4: key.last4,
  createdAt: key.createdAt,
  hash: key.hash,
  limit,
})

export const keyStore = Effect.fnUntraced(function* (database: DatabaseService) {
  const store: KeyStore = {
    admit: yield* batched(admitAll(database), batching(database)),
    admitV1: yield* batched(admitV1(database), batching(database)),
    insertKey(key, limit) {
      return database.transaction(
        "key.insert",
        Effect.fnUntraced(function* insert(run) {
          yield* lockWorkspace.in(run, key)
          const [row] = yield* insertKey.in(run, toNewKey(key, limit))
          return row === undefined ? null : toKey(row)
        }),
      )
    },
    listKeys(workspaceId) {
      return listKeys.all(database, { workspaceId }, toKey)
    },
    revokeKey(workspaceId, id, now) {
      return revokeKey.first(database, { workspaceId, id, now }, toKey)
    },
  }
  return store
})
