/**
 * The fixed data: workspaces with a plan that counts messages, each with a connected number and a key. Ids
 * count from 1, and the secret of a key follows from its id, so that every process of a benchmark knows them.
 */
import { Effect } from "effect"
import type { BenchDatabase } from "./BenchDatabase.ts"

const secretPrefix = "svc_live_"
const secretDigits = 38

/** The secret of the key with this id. */
export const getSecret = (key: number): string =>
  `${secretPrefix}${String(key).padStart(secretDigits, "0")}`

/** The hash of the secret of the key with the id that the SQL expression gives. */
export const hashSql = (key: string): string =>
  `encode(sha256(convert_to('${secretPrefix}' || lpad(${key}::text, ${secretDigits}, '0'), ` +
  `'UTF8')), 'hex')`

const addWorkspaces = `
insert into workspaces (
  name, demo, account_disabled, api_v2_enabled, admits, plan_name, plan_messages_remaining,
  plan_reminders, plan_qr_code_api, plan_max_numbers, plan_media_storage_bytes, created_at
)
select
  'Workspace', false, false, true, true, 'Plan', 1000000000, true, true, null, 1073741824,
  timestamptz '2026-01-01T00:00:00Z'
from generate_series(1, $1::integer)`

/** Numbers of workspace `$1`, or one of each workspace; with their lanes. */
const addNumbers = `
with number as (
  insert into numbers (workspace_id, phone, label, platform, status, login_method, created_at)
  select
    coalesce($1::bigint, made.place), (15550000000 + made.place)::text, '', 'whatsapp', $3, 'qr',
    timestamptz '2026-01-01T00:00:00Z'
  from generate_series(1, $2::integer) made (place)
  order by made.place
  returning *
)
insert into lanes (number_id, workspace_id, connected)
select number.id, number.workspace_id, number.status = 'connected'
from number`

const addKeys = `
with made as (
  select nextval('api_keys_id_seq') as id, place
  from generate_series(1, $2::integer) place
)
insert into api_keys (
  id, workspace_id, version, name, mode, scopes, last4, hash, created_at
)
overriding system value
select
  made.id, coalesce($1::bigint, made.place), 2, 'Key', 'live',
  array['messages:send', 'messages:read'], '0000', ${hashSql("made.id")},
  timestamptz '2026-01-01T00:00:00Z'
from made`

/** Workspaces 1 to `count`, each with the number and the key of the same id. */
export const loadWorkspaces = Effect.fnUntraced(function* loadWorkspaces(
  database: BenchDatabase,
  count: number,
) {
  yield* database.query(addWorkspaces, [count])
  yield* database.query(addNumbers, [null, count, "connected"])
  yield* database.query(addKeys, [null, count])
})

/** One more workspace, after all others, with that many numbers and keys. */
export const loadWorkspace = Effect.fnUntraced(function* loadWorkspace(
  database: BenchDatabase,
  owned: { readonly numbers: number; readonly keys: number; readonly status?: string },
) {
  yield* database.query(addWorkspaces, [1])
  const id = yield* database.count("select max(id) from workspaces")
  const number = yield* database.count("select coalesce(max(id), 0) + 1 from numbers")
  const key = yield* database.count("select coalesce(max(id), 0) + 1 from api_keys")
  yield* database.query(addNumbers, [id, owned.numbers, owned.status ?? "connected"])
  yield* database.query(addKeys, [id, owned.keys])
  return { id, firstNumber: number, firstKey: key }
})

/** Nothing sent, nothing waiting, nothing counted; the planner knows the tables. */
export const emptyOut = Effect.fnUntraced(function* emptyOut(database: BenchDatabase) {
  yield* database.query(
    "truncate messages, outbox, idempotency_claims, idempotency_records, key_windows",
  )
  yield* database.query(
    `update lanes set next_due = null, head_id = null, interruptions = 0, lease_until = null,
      hold_until = null, quota_bound = 0, quota_full_until = null, sent_bound = 0`,
  )
  yield* database.query("update workspaces set plan_messages_remaining = 1000000000")
  yield* database.query("vacuum analyze lanes, workspaces, messages, outbox, key_windows")
})

/**
 * Live messages that wait, dealt out to the numbers of an id range in turn. They fell due 10 ms
 * after one another, the last of them so many hours ago.
 */
export const loadWaiting = Effect.fnUntraced(function* loadWaiting(
  database: BenchDatabase,
  count: number,
  numbers: { readonly from: number; readonly to: number },
  hours = 1,
) {
  yield* database.query(
    `insert into messages (
      workspace_id, number_id, created_at, due_at, allowance_taken, mode, state, platform,
      from_phone, to_kind, to_phone, text, transport_id
    )
    select
      n.workspace_id, n.id, at.due, at.due, true, 'live', 'waiting', n.platform, n.phone, 'phone',
      '+15551234567', 'Hello from the benchmark', upper(left(md5(random()::text), 20))
    from generate_series(0, $1::bigint - 1) place
    join numbers n on n.id = $2::bigint + place % ($3::bigint - $2::bigint + 1)
    cross join lateral (
      select
        $4::timestamptz - $5 * interval '1 hour' - ($1::bigint - place) * interval '10 ms' as due
    ) at
    order by place`,
    [count, numbers.from, numbers.to, new Date(), hours],
  )
  yield* database.query(
    `update lanes l
    set next_due = waiting.due, front = least(l.front, waiting.due)
    from (
      select m.number_id, min(m.due_at) as due
      from messages m
      where m.state = 'waiting'
      group by m.number_id
    ) waiting
    where l.number_id = waiting.number_id
      and l.number_id between $1 and $2`,
    [numbers.from, numbers.to],
  )
  yield* database.query("vacuum analyze lanes, messages")
})
