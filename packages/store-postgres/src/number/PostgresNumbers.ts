/** Numbers, each with its lane. */
import { NumberStore } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { connectionArguments } from "../callback/writeCallbacks.ts"
import { Database } from "../database/Database.ts"
import { bigint, instant, text } from "../database/parameters.ts"
import { numberColumns, toNumber } from "./numberRow.ts"
import type { NumberRow } from "./numberRow.ts"
import { removeNumber } from "./removeLanes.ts"
import { setNumberStatus } from "./setNumberStatus.ts"
import { placeholders } from "../database/SqlFunction.ts"
import { DeliveriesQueued } from "../webhook/DeliveriesQueued.ts"

/**
 * Makes the number and its lane. The workspace's row is locked against deletion meanwhile; a number
 * made in a workspace that is deleted already counts as removed from the start.
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

const callbackUrl = `
select n.callback_url
from numbers n
where n.id = $1
  and n.removed_at is null`

const setStatusStatement = `
select ${numberColumns("n")}
from ${setNumberStatus.name}(${placeholders(10)}) n`

const removeStatement = `select ${removeNumber.name}($1, $2, $3) as removed`

const firstNumber = (rows: ReadonlyArray<NumberRow>) => {
  const row = rows[0]
  return row === undefined ? null : toNumber(row)
}

export const layerNumbers = Layer.effect(
  NumberStore,
  Effect.gen(function* () {
    const database = yield* Database
    const { tell } = yield* DeliveriesQueued
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
      callbackUrl: (id) =>
        Effect.map(
          database.query<{ readonly callback_url: string | null }>("number.callback", callbackUrl, [
            bigint(id),
          ]),
          ([row]) => row?.callback_url ?? null,
        ),
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
      setStatus: (id, status, phone, _now, callback = null) =>
        database
          .query<NumberRow>("number.setStatus", setStatusStatement, [
            bigint(id),
            text(status),
            text(phone ?? null),
            ...connectionArguments(callback),
          ])
          .pipe(
            Effect.tap(() => (callback === null ? Effect.void : tell)),
            Effect.map(firstNumber),
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
