/**
 * Admission of version 1: finds a key and its workspace, and counts the request in the minute that
 * the keys of a workspace share, in one round trip. Requests of one workspace that are admitted
 * together count as one write of several.
 *
 * Locks: the rows of the workspaces' windows in the order of their ids; then those of the keys, which
 * keep the last use, in the order of theirs.
 */
import type { AdmittedV1, AdmitV1Query, StoreUnavailable } from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, columnsOf, instant, text } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { each, joined, on, single, statement } from "../database/Statement.ts"
import { toWorkspace, workspaceColumns } from "../workspace/workspaceRow.ts"
import type { WorkspaceRow } from "../workspace/workspaceRow.ts"
import { countRequests, isUsable, keyColumns, toKey } from "./keyRow.ts"
import type { KeyRow } from "./keyRow.ts"

interface Minute {
  readonly minuteStart: number
  readonly queries: ReadonlyArray<AdmitV1Query>
}

const queryParameters = each(
  columnsOf({
    hash: { hash: text((query) => query.hash) },
    workspaceId: { workspace_id: bigint((query) => query.workspaceId) },
    now: { now: instant((query) => query.now) },
    clientAddress: { address: text((query) => query.clientAddress) },
  } satisfies FieldsOf<Omit<AdmitV1Query, "minuteStart">>),
)

/** All of one clock minute. */
const admitStatement = statement(
  "admitV1",
  joined(
    on((minute: Minute) => minute.queries, queryParameters),
    single({ minuteStart: instant((minute: Minute) => minute.minuteStart) }),
  ),
)`
with asked as (
  select *
  from unnest(${queryParameters.placeholders}) with ordinality asked (${queryParameters.names}, place)
),
found as materialized (
  select asked.place, asked.now, asked.address, k as key, w as workspace,
    w.admits_v1
      and ${isUsable("k", "asked.now")}
      and coalesce(asked.workspace_id = w.id, true) as counts
  from asked
  join api_keys k on k.hash = asked.hash and k.version = 1
  join workspaces w on w.id = k.workspace_id
),
counted as (
  insert into workspace_windows as windows (workspace_id, minute_start, minute_count)
  select (found.workspace).id, $minuteStart, count(*)::integer
  from found
  where found.counts
  group by (found.workspace).id
  order by (found.workspace).id
  on conflict (workspace_id) do update
  set ${countRequests("minute")}
  returning workspace_id, minute_count
),
used as (
  insert into key_windows as windows (
    key_id, minute_start, minute_count, day_start, day_count, last_used_at, last_used_ip
  )
  select distinct on ((found.key).id)
    (found.key).id, found.now, 0, found.now, 0, found.now, found.address
  from found
  where found.counts
  order by (found.key).id, found.place desc
  on conflict (key_id) do update
  set last_used_at = excluded.last_used_at,
    last_used_ip = excluded.last_used_ip
)
select found.place, found.counts, counted.minute_count,
  ${keyColumns("(found.key)", "windows")},
  ${workspaceColumns("(found.workspace)")}
from found
left join counted on counted.workspace_id = (found.workspace).id
left join key_windows windows on windows.key_id = (found.key).id`

type AdmittedRow = KeyRow &
  WorkspaceRow & {
    readonly place: bigint
    readonly counts: boolean
    /** Of the workspace, after all requests of the statement. */
    readonly minute_count: number | null
  }

export const admitV1 =
  (database: DatabaseService) =>
  (
    queries: ReadonlyArray<AdmitV1Query>,
  ): Effect.Effect<ReadonlyArray<AdmittedV1 | null>, StoreUnavailable> =>
    Effect.gen(function* () {
      const admitted: Array<AdmittedV1 | null> = queries.map(() => null)
      // One statement, but at the turn of a minute.
      for (const [minuteStart, places] of byMinute(queries)) {
        const asked = places.flatMap((place) => queries[place] ?? [])
        const rows = yield* admitStatement.rows<AdmittedRow>(database, {
          queries: asked,
          minuteStart,
        })
        const later = new Map<bigint, number>()
        for (const row of rows.toSorted((a, b) => Number(b.place - a.place))) {
          const index = Number(row.place) - 1
          const [place, query] = [places[index], asked[index]]
          if (place === undefined || query === undefined) continue
          const behind = later.get(row.workspace_id) ?? 0
          if (row.counts) later.set(row.workspace_id, behind + 1)
          admitted[place] = toAdmitted(row, query, behind)
        }
      }
      return admitted
    })

/** The places of the queries of each minute, the earliest minute first. */
const byMinute = (
  queries: ReadonlyArray<AdmitV1Query>,
): ReadonlyArray<readonly [minuteStart: number, places: ReadonlyArray<number>]> => {
  const minutes = new Map<number, Array<number>>()
  for (const [place, { minuteStart }] of queries.entries()) {
    minutes.set(minuteStart, [...(minutes.get(minuteStart) ?? []), place])
  }
  return [...minutes].toSorted(([a], [b]) => a - b)
}

/** `later`: how many of the workspace's requests that were counted together came after this one. */
const toAdmitted = (row: AdmittedRow, query: AdmitV1Query, later: number): AdmittedV1 => {
  const key = toKey(row)
  const counts = row.counts && row.minute_count !== null
  return {
    key: counts ? { ...key, lastUsedAt: query.now, lastUsedIp: query.clientAddress } : key,
    workspace: toWorkspace(row),
    count: counts && row.minute_count !== null ? row.minute_count - later : null,
  }
}
