/**
 * Admission: finds a key and its workspace and counts the request, in one round trip. Requests with
 * one key that are admitted together count as one write of several.
 *
 * Locks: the row of each key's windows, in the order of the keys' hashes.
 */
import type { Admitted, AdmitQuery, StoreUnavailable } from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { instant, integer, listed, text } from "../database/Fields.ts"
import { each, sqlFunction, statement } from "../database/Statement.ts"
import { toWorkspace, workspaceColumns, workspaceResult } from "../workspace/workspaceRow.ts"
import type { WorkspaceRow } from "../workspace/workspaceRow.ts"
import { countRequests, isUsable, keyColumns, keyResult, toKey } from "./keyRow.ts"
import type { KeyRow } from "./keyRow.ts"

/** Counts p_count requests. */
export const admitRequests = sqlFunction(
  "admit_requests",
  `
    p_hash text, p_version integer, p_now timestamptz, p_minute_start timestamptz,
    p_day_start timestamptz, p_address text, p_count integer
  `,
  `table (minute_count integer, day_count integer, ${keyResult}, ${workspaceResult})`,
)`
  begin
    return query
    with found as materialized (
      select k as key, w as workspace
      from api_keys k
      join workspaces w on w.id = k.workspace_id
      where k.hash = p_hash
        and k.version = p_version
    ),
    counted as (
      insert into key_windows as windows (
        key_id, minute_start, minute_count, day_start, day_count, last_used_at, last_used_ip
      )
      select (found.key).id, p_minute_start, p_count, p_day_start, p_count, p_now, p_address
      from found
      where (found.workspace).admits
        and ${isUsable("(found.key)", "p_now")}
      on conflict (key_id) do update
      set ${countRequests("minute")},
        ${countRequests("day")},
        last_used_at = excluded.last_used_at,
        last_used_ip = excluded.last_used_ip
      returning minute_count, day_count, last_used_at, last_used_ip
    )
    select
      counted.minute_count, counted.day_count, ${keyColumns("(found.key)", "latest")},
      ${workspaceColumns("(found.workspace)")}
    from found
    left join counted on true
    left join lateral (
      select counted.last_used_at, counted.last_used_ip
      where counted.last_used_at is not null
      union all
      select w.last_used_at, w.last_used_ip
      from key_windows w
      where w.key_id = (found.key).id
        and counted.last_used_at is null
    ) latest on true;
  end`

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
cross join lateral ${admitRequests.name}(${listed(groupColumns, (name) => `asked.${name}`)}) admitted`

/** Requests that differ in nothing that is counted; the latest tells time and address of use. */
interface Group {
  readonly places: Array<number>
  latest: AdmitQuery
}

export const admit =
  (database: DatabaseService) =>
  (
    queries: ReadonlyArray<AdmitQuery>,
  ): Effect.Effect<ReadonlyArray<Admitted | null>, StoreUnavailable> => {
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
