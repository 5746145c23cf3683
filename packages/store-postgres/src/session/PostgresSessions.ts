/** What live transports keep, sealed. */
import type {
  Fence,
  KeptSession,
  KeyChange,
  NumberId,
  SessionStore,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, integer, millis, text, texts } from "../database/Fields.ts"
import { each, given, joined, part, single, statement } from "../database/Statement.ts"

interface KeptRow {
  readonly number_id: bigint
  readonly platform: KeptSession["platform"]
  readonly status: KeptSession["status"]
  readonly removed: boolean
  readonly leaving_at: Date | null
  readonly pause_reason: KeptSession["pauseReason"]
  readonly proxy_url: string | null
}

const listKept = statement("session.list", given({}))`
select
  s.number_id, n.platform, n.status, l.removed_at is not null as removed, s.leaving_at,
  l.pause_reason, n.proxy_url
from sessions s
join numbers n on n.id = s.number_id
join lanes l on l.number_id = s.number_id
order by s.number_id`

const getCredentials = statement("session.credentials", given({ numberId: bigint }))`
select s.credentials
from sessions s
where s.number_id = $numberId`

const getKeys = statement("session.keys", given({ numberId: bigint, type: text, ids: texts }))`
select k.id, k.value
from session_keys k
where k.number_id = $numberId
  and k.type = $type
  and k.id = any ($ids)`

/** By which taking of its shard a number is written; both are null where any write will do. */
const fenced = part(
  "fence",
  single({
    shard: integer((fence: Fence) => fence?.shard ?? null),
    term: bigint((fence: Fence) => fence?.term ?? null),
  }),
)

/**
 * The shard's row, unless the shard was taken anew since. It stays locked until the write is committed:
 * whoever takes the shard next reads what was written. A worker that would take it passes over it until
 * then (see `shards.take`).
 */
const fence = `fence as materialized (
  select
  from number_shards f
  where f.shard = $shard
    and f.term = $term
  for share
)`

const mayWrite = `($shard is null or exists (select from fence))`

const writing = joined(
  given({ numberId: bigint, credentials: text, now: instant }),
  part(
    "keys",
    each({
      types: text((key: KeyChange) => key.type),
      ids: text((key: KeyChange) => key.id),
      values: text((key: KeyChange) => key.value),
    }),
  ),
  fenced,
)

/**
 * One statement, and so one commit. The session's row is written before any of its keys, so that
 * writes of one number cannot cross. What is dropped and what is written are different keys.
 */
const write = statement("session.write", writing)`
with ${fence},
session as (
  insert into sessions as kept (number_id, credentials)
  select l.number_id, coalesce($credentials, s.credentials)
  from lanes l
  left join sessions s on s.number_id = l.number_id
  where l.number_id = $numberId
    and l.removed_at is null
    and coalesce($credentials, s.credentials) is not null
    and ${mayWrite}
  on conflict (number_id) do update
  set credentials = coalesce($credentials, kept.credentials)
  returning number_id
),
given as (
  select key.type, key.id, key.value
  from unnest($types, $ids, $values) key (type, id, value)
),
dropped as (
  delete from session_keys k
  using session, given
  where k.number_id = session.number_id
    and k.type = given.type
    and k.id = given.id
    and given.value is null
),
written as (
  insert into session_keys (number_id, type, id, value, written_at)
  select session.number_id, given.type, given.id, given.value, $now
  from session, given
  where given.value is not null
  on conflict (number_id, type, id) do update
  set value = excluded.value, written_at = excluded.written_at
)
select ${mayWrite} as written`

const leave = statement("session.leave", joined(given({ numberId: bigint, now: instant }), fenced))`
with ${fence},
leaving as (
  update sessions s
  set leaving_at = $now
  where s.number_id = $numberId
    and s.leaving_at is null
    and ${mayWrite}
)
select ${mayWrite} as written`

/** The keys go with their session. */
const wipe = statement("session.wipe", joined(given({ numberId: bigint }), fenced))`
with ${fence},
wiped as (
  delete from sessions s
  where s.number_id = $numberId
    and ${mayWrite}
)
select ${mayWrite} as written`

const trim = statement(
  "session.trim",
  joined(given({ numberId: bigint, type: text, most: integer }), fenced),
)`
with ${fence},
trimmed as (
  delete from session_keys k
  using (
    select old.id
    from session_keys old
    where old.number_id = $numberId
      and old.type = $type
    order by old.written_at desc, old.id desc
    offset $most
  ) old
  where k.number_id = $numberId
    and k.type = $type
    and k.id = old.id
    and ${mayWrite}
)
select ${mayWrite} as written`

export const sessionStore = (database: DatabaseService): typeof SessionStore.Service => ({
  list: listKept.all(database, {}, (row: KeptRow) => ({
    numberId: Number(row.number_id) as NumberId,
    platform: row.platform,
    status: row.status,
    removed: row.removed,
    leavingSince: millis(row.leaving_at),
    pauseReason: row.pause_reason,
    proxy: row.proxy_url,
  })),
  credentials: (numberId) => getCredentials.value<string>(database, { numberId }),
  keys: (numberId, type, ids) =>
    Effect.map(
      getKeys.rows<{ readonly id: string; readonly value: string }>(database, {
        numberId,
        type,
        ids,
      }),
      (rows) => new Map(rows.map(({ id, value }) => [id, value])),
    ),
  write: (numberId, credentials, keys, now, by) =>
    write.holds(database, { numberId, credentials, keys, now, fence: by }),
  replace: (numberId, credentials, keys, now, by) =>
    database.transaction("session.replace", (run) =>
      Effect.andThen(
        wipe.within(run, { numberId, fence: by }),
        Effect.map(
          write.within<{ readonly written: boolean }>(run, {
            numberId,
            credentials,
            keys,
            now,
            fence: by,
          }),
          ([row]) => row?.written === true,
        ),
      ),
    ),
  trim: (numberId, type, most, by) => trim.holds(database, { numberId, type, most, fence: by }),
  leave: (numberId, now, by) => leave.holds(database, { numberId, now, fence: by }),
  wipe: (numberId, by) => wipe.holds(database, { numberId, fence: by }),
})
