/** API keys and the counts of what is asked with them. */
import { dayMillis, minuteMillis } from "@messaging-service/core"
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
import { coalesced, coalescing } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  columnsOf,
  instant,
  integer,
  listed,
  millis,
  selected,
  smallint,
  text,
  texts,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import {
  each,
  given,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { sqlFiles } from "../sql.generated.ts"
import { toWorkspace } from "../workspace/workspaces.ts"
import type { WorkspaceRow } from "../workspace/workspaces.ts"

// An API key as its table keeps it, and its windows, with which its last use stands.

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

const newColumns = {
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

type KeyRow = RowOf<typeof columns> & RowOf<typeof useColumns>

/** The columns of a `KeyRow`, from the tables of a key and of its windows. */
const keyColumns = (key: string, windows: string): string =>
  `${selected(columns, key)}, ${selected(useColumns, windows)}`

const toKey = (row: KeyRow): ApiKey => ({
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

// Admission: finds a key and its workspace and counts the request, in one round trip. Requests that
// are admitted together and count in the same window count as one write of several.

type AdmittedRow = KeyRow &
  WorkspaceRow & {
    readonly place: bigint
    readonly minute_count: number | null
    readonly day_count: number | null
  }

/** The function's arguments of one group. */
const groupColumns = {
  hash: text(({ latest }: Group) => latest.hash),
  version: integer(({ latest }: Group) => latest.version),
  now: instant(({ latest }: Group) => latest.now),
  minute_start: instant(({ latest }: Group) => latest.minuteStart),
  day_start: instant(({ latest }: Group) => latest.dayStart),
  address: text(({ latest }: Group) => latest.clientAddress),
  count: integer(({ places }: Group) => places.length),
}

const groupParameters = each(groupColumns)

export const admitStatement = statement("admit", groupParameters)`
select asked.place, admitted.*
from unnest(${groupParameters.placeholders}) with ordinality asked (${groupParameters.names}, place)
cross join lateral :code.admit_requests(${listed(groupColumns, (name) => `asked.${name}`)}) admitted`

/** Requests that differ in nothing that is counted; the latest tells time and address of use. */
interface Group {
  readonly places: Array<number>
  latest: AdmitQuery
}

const admit = (database: DatabaseService) => (queries: ReadonlyArray<AdmitQuery>) => {
  const asked = groupsOf(queries)
  return Effect.map(admitStatement.rows<AdmittedRow>(database, asked), (rows) => {
    const admitted: Array<Admitted | null> = queries.map(() => null)
    for (const row of rows) {
      const places = asked[Number(row.place) - 1]?.places ?? []
      for (const [index, place] of places.entries()) {
        admitted[place] = toAdmitted(row, places.length - 1 - index)
      }
    }
    return admitted
  })
}

const groupsOf = (queries: ReadonlyArray<AdmitQuery>): ReadonlyArray<Group> => {
  const groups = new Map<string, Group>()
  for (const [place, query] of queries.entries()) {
    const { dayStart, hash, minuteStart, version } = query
    const key = `${hash} ${version} ${minuteStart} ${dayStart}`
    const group = groups.get(key)
    if (group === undefined) {
      groups.set(key, { places: [place], latest: query })
    } else {
      group.places.push(place)
      group.latest = query
    }
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

/** `later`: how many of the requests that were counted together came after this one. */
const toAdmitted = (row: AdmittedRow, later: number): Admitted => ({
  key: toKey(row),
  workspace: toWorkspace(row),
  count:
    row.minute_count === null || row.day_count === null
      ? null
      : { minute: row.minute_count - later, day: row.day_count - later },
})

const queryParameters = each(
  columnsOf({
    hash: { hash: text((query) => query.hash) },
    workspaceId: { workspace_id: bigint((query) => query.workspaceId) },
    now: { now: instant((query) => query.now) },
    clientAddress: { address: text((query) => query.clientAddress) },
  } satisfies FieldsOf<Omit<AdmitV1Query, "minuteStart">>),
)

const admitStatementV1 = statement(
  "admitV1",
  joined(part("queries", queryParameters), given({ minuteStart: instant })),
)(sqlFiles["statements/key/admit-statement-v1.sql"])

type AdmittedRowV1 = KeyRow &
  WorkspaceRow & {
    readonly place: bigint
    readonly counts: boolean
    /** Of the workspace, after all requests of the statement. */
    readonly minute_count: number | null
  }

const admitV1 = (database: DatabaseService) => (queries: ReadonlyArray<AdmitV1Query>) =>
  Effect.gen(function* () {
    const admitted: Array<AdmittedV1 | null> = queries.map(() => null)
    // One statement, but at the turn of a minute.
    for (const [minuteStart, asked] of byMinute(queries)) {
      const rows = yield* admitStatementV1.rows<AdmittedRowV1>(database, {
        queries: asked.map(([, query]) => query),
        minuteStart,
      })
      const later = new Map<bigint, number>()
      for (const row of rows.toSorted((a, b) => Number(b.place - a.place))) {
        const [place, query] = asked[Number(row.place) - 1] ?? []
        if (place === undefined || query === undefined) continue
        const behind = later.get(row.workspace_id) ?? 0
        if (row.counts) later.set(row.workspace_id, behind + 1)
        admitted[place] = toAdmittedV1(row, query, behind)
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
const toAdmittedV1 = (row: AdmittedRowV1, query: AdmitV1Query, later: number): AdmittedV1 => {
  const key = toKey(row)
  const counts = row.counts && row.minute_count !== null
  return {
    key: counts ? { ...key, lastUsedAt: query.now, lastUsedIp: query.clientAddress } : key,
    workspace: toWorkspace(row),
    count: counts && row.minute_count !== null ? row.minute_count - later : null,
  }
}

// Index api_keys_by_workspace. The workspace's row is locked: two inserts count one after the other.
const lockWorkspace = statement("key.lockWorkspace", given({ workspaceId: bigint }))`
select
from workspaces w
where w.id = $workspaceId
for no key update`

const made = single(newColumns)

const insertKey = statement("key.insert", joined(made, given({ limit: integer })))`
insert into api_keys (${made.names})
select ${made.placeholders}
where not :code.holds_all_keys($workspace_id, $version, $limit)
returning *, null::timestamptz as last_used_at, null::text as last_used_ip`

const listKeys = statement("key.list", given({ workspaceId: bigint }))`
select ${keyColumns("k", "windows")}
from api_keys k
left join key_windows windows on windows.key_id = k.id
where k.workspace_id = $workspaceId
order by k.id`

const revokeKey = sqlFunction(
  "revoke_key",
  taking({ workspaceId: bigint, id: bigint, now: instant }),
)

const revoke = statement("key.revoke", revokeKey.taken)`
select ${keyColumns("revoked", "windows")}
from ${revokeKey.name}(${revokeKey.taken.placeholders}) revoked
left join key_windows windows on windows.key_id = revoked.id
where revoked.id is not null`

export const keyStore = Effect.fnUntraced(function* (database: DatabaseService) {
  const store: typeof KeyStore.Service = {
    admit: yield* coalesced(admit(database), coalescing(database)),
    admitV1: yield* coalesced(admitV1(database), coalescing(database)),
    insert: (key, limit) =>
      database.transaction(
        "key.insert",
        Effect.fnUntraced(function* (run) {
          yield* lockWorkspace.within(run, key)
          const [row] = yield* insertKey.within<KeyRow>(run, { ...key, limit })
          return row === undefined ? null : toKey(row)
        }),
      ),
    list: (workspaceId) => listKeys.all(database, { workspaceId }, toKey),
    revoke: (workspaceId, id, now) => revoke.first(database, { workspaceId, id, now }, toKey),
  }
  return store
})
