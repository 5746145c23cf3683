/** Messages by the million, all sent: what a workspace leaves behind in years. */
import { Effect } from "effect"
import type { BenchDatabase } from "./BenchDatabase.ts"

/** Drops a table's indexes, its key aside, while `load` fills it: they are built faster afterwards. */
export const withoutIndexes = Effect.fnUntraced(function* <E>(
  database: BenchDatabase,
  table: string,
  load: Effect.Effect<unknown, E>,
) {
  const indexes = yield* database.query(
    `select indexname::text as name, indexdef as definition
     from pg_indexes
     where tablename = $1 and indexdef not like '%UNIQUE%'`,
    [table],
  )
  for (const { name } of indexes) yield* database.query(`drop index ${String(name)}`)
  yield* load
  for (const { definition } of indexes) yield* database.query(String(definition))
  yield* database.query(`vacuum analyze ${table}`)
})

/** Messages with ids from 1, all sent, dealt out to the workspace's numbers in turn. */
export const loadHistory = (
  database: BenchDatabase,
  workspace: { readonly id: number; readonly firstNumber: number },
  numbers: number,
  count: number,
) =>
  withoutIndexes(
    database,
    "messages",
    database.query(
      `insert into messages (
        workspace_id, number_id, created_at, due_at, sent_at, allowance_taken, mode, state,
        platform, from_phone, to_kind, to_phone, text, transport_id
      )
      select
        $1, $2::bigint + place % $3::bigint, at.moment, at.moment, at.moment, true, 'live', 'sent',
        'whatsapp', '15550000001', 'phone', '+15551234567', 'Hello from the benchmark',
        lpad(place::text, 20, '0')
      from generate_series(1, $4::bigint) place
      cross join lateral (
        select timestamptz '2024-01-01T00:00:00Z' + place * interval '30 seconds' as moment
      ) at
      order by place`,
      [workspace.id, workspace.firstNumber, numbers, count],
    ),
  )
