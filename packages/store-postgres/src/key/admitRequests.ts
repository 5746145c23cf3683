/**
 * Admission: finds a key and its workspace and counts the request, in one round trip. Requests that
 * are admitted together and count in the same window count as one write of several.
 */
import { sqlFiles } from "../sql.generated.ts"
import type { Admitted, AdmittedV1, AdmitQuery, AdmitV1Query } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, columnsOf, instant, integer, listed, text } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { each, given, joined, part, statement } from "../database/Statement.ts"
import { toWorkspace } from "../workspace/workspaceRow.ts"
import type { WorkspaceRow } from "../workspace/workspaceRow.ts"
import { toKey } from "./keyRow.ts"
import type { KeyRow } from "./keyRow.ts"

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

export const admit = (database: DatabaseService) => (queries: ReadonlyArray<AdmitQuery>) => {
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

export const admitV1 = (database: DatabaseService) => (queries: ReadonlyArray<AdmitV1Query>) =>
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
