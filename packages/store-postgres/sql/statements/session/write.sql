-- Writes of several numbers, of each one, in one statement and so in one commit; each is fenced by its
-- own shard. A session's row is written before any of its keys, so that writes of one number cannot
-- cross, and the rows in the order of their numbers, so that statements do not wait for one another in a
-- circle. What is dropped and what is written are different keys.
with fence as materialized (
  select f.shard, f.term
  from number_shards f
  where f.shard = any (:shards)
    and exists (
      select
      from unnest(:shards, :terms) by (shard, term)
      where by.shard = f.shard
        and by.term = f.term
    )
  for share of f
),
asked as materialized (
  select
    asked.*,
    asked.shard is null or exists (
      select from fence where fence.shard = asked.shard and fence.term = asked.term
    ) as may_write
  from unnest(:numberIds, :credentials, :times, :shards, :terms)
    with ordinality asked (number_id, credentials, written_at, shard, term, place)
),
session as materialized (
  insert into sessions as kept (number_id, credentials)
  select l.number_id, coalesce(asked.credentials, s.credentials)
  from asked
  join lanes l on l.number_id = asked.number_id
  left join sessions s on s.number_id = l.number_id
  where asked.may_write
    and l.removed_at is null
    and coalesce(asked.credentials, s.credentials) is not null
  order by l.number_id
  on conflict (number_id) do update
  set credentials = coalesce(
    (:credentials)[array_position(:numberIds, kept.number_id)],
    kept.credentials
  )
  returning number_id, (:times)[array_position(:numberIds, kept.number_id)] as written_at
),
given as materialized (
  select key.number_id, key.type, key.id, key.value, session.written_at
  from session
  join unnest(:keyNumberIds, :types, :ids, :values) key (number_id, type, id, value)
    on key.number_id = session.number_id
),
dropped as (
  delete from session_keys k
  using given
  where k.number_id = given.number_id
    and k.type = given.type
    and k.id = given.id
    and given.value is null
),
written as (
  insert into session_keys (number_id, type, id, value, written_at)
  select given.number_id, given.type, given.id, given.value, given.written_at
  from given
  where given.value is not null
  on conflict (number_id, type, id) do update
  set value = excluded.value, written_at = excluded.written_at
)
select asked.may_write as written
from asked
order by asked.place
