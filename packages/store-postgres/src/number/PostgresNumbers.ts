/** Numbers, each with its lane. */
import { NumberStore } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, instant, text } from "../database/parameters.ts"
import { numberColumns, toNumber } from "./numberRow.ts"
import type { NumberRow } from "./numberRow.ts"
import { removeNumber } from "./removeLanes.ts"

/**
 * Makes the number and its lane. The workspace's row is locked against deletion meanwhile; a number
 * made in a workspace that is deleted already is removed from its birth.
 */
const insertNumber = `
with workspace as (
  select w.id, w.deleted_at
  from workspaces w
  where w.id = $1
  for key share
),
number as (
  insert into numbers (
    workspace_id, phone, label, platform, status, login_method, created_at, mode, removed_at
  )
  select workspace.id, $2, $3, $4, $5, $6, $7, $8, workspace.deleted_at
  from workspace
  returning *
),
lane as (
  insert into lanes (number_id, workspace_id, connected, removed_at)
  select
    number.id, number.workspace_id,
    number.status = 'connected' and number.removed_at is null, number.removed_at
  from number
)
select ${numberColumns("number")}
from number`

const getNumber = `
select ${numberColumns("n")}
from numbers n
where n.id = $2
  and n.workspace_id = $1
  and n.removed_at is null`

const findNumber = `
select ${numberColumns("n")}
from numbers n
where n.id = $1
  and n.removed_at is null`

// Index numbers_by_workspace.
const listNumbers = `
select ${numberColumns("n")}
from numbers n
where n.workspace_id = $1
  and n.removed_at is null
order by n.id`

const relabelNumber = `
update numbers n
set label = $3
where n.id = $2
  and n.workspace_id = $1
  and n.removed_at is null
returning ${numberColumns("n")}`

/**
 * The lane first, as everywhere. Its next due moment is kept while it rests, so that connecting
 * needs no count.
 */
const setNumberStatus = `
with lane as (
  update lanes l
  set connected = $2 = 'connected' and l.removed_at is null
  where l.number_id = $1
  returning l.number_id
),
ended as (
  delete from linking_attempts a
  using lane
  where a.number_id = lane.number_id
    and $2 <> 'connecting'
)
update numbers n
set status = $2,
  phone = coalesce($3, n.phone)
from lane
where n.id = lane.number_id
  and n.removed_at is null
returning ${numberColumns("n")}`

const removeStatement = `select ${removeNumber.name}($1, $2, $3) as removed`

const firstNumber = (rows: ReadonlyArray<NumberRow>) => {
  const row = rows[0]
  return row === undefined ? null : toNumber(row)
}

export const layerNumbers = Layer.effect(
  NumberStore,
  Effect.gen(function* () {
    const database = yield* Database
    return NumberStore.of({
      insert: (number) =>
        database
          .query<NumberRow>("number.insert", insertNumber, [
            bigint(number.workspaceId),
            text(number.phone),
            text(number.label),
            text(number.platform),
            text(number.status),
            text(number.loginMethod),
            instant(number.createdAt),
            text(number.mode),
          ])
          .pipe(
            Effect.flatMap(([row]) =>
              row === undefined
                ? Effect.die(new Error(`no workspace ${number.workspaceId}`))
                : Effect.succeed(toNumber(row)),
            ),
          ),
      get: (workspaceId, id) =>
        Effect.map(
          database.query<NumberRow>("number.get", getNumber, [bigint(workspaceId), bigint(id)]),
          firstNumber,
        ),
      find: (id) =>
        Effect.map(database.query<NumberRow>("number.find", findNumber, [bigint(id)]), firstNumber),
      list: (workspaceId) =>
        Effect.map(
          database.query<NumberRow>("number.list", listNumbers, [bigint(workspaceId)]),
          (rows) => rows.map(toNumber),
        ),
      relabel: (workspaceId, id, label) =>
        Effect.map(
          database.query<NumberRow>("number.relabel", relabelNumber, [
            bigint(workspaceId),
            bigint(id),
            text(label),
          ]),
          firstNumber,
        ),
      // Nothing here tells of the time: a lane is due when its messages are.
      setStatus: (id, status, phone, _now) =>
        Effect.map(
          database.query<NumberRow>("number.setStatus", setNumberStatus, [
            bigint(id),
            text(status),
            text(phone ?? null),
          ]),
          firstNumber,
        ),
      remove: (workspaceId, id, now) =>
        Effect.map(
          database.query<{ readonly removed: boolean }>("number.remove", removeStatement, [
            bigint(workspaceId),
            bigint(id),
            instant(now),
          ]),
          (rows) => rows[0]?.removed ?? false,
        ),
    })
  }),
)
