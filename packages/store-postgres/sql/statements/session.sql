-- name: exchange
-- Of two that would exchange the same credentials the second finds the row changed, or there.
with present as (
  select l.number_id
  from lanes l
  where l.number_id = :numberId
    and l.removed_at is null
),
begun as (
  insert into sessions (number_id, credentials)
  select p.number_id, :credentials::text
  from present p
  where :before::text is null
    and :credentials is not null
  on conflict (number_id) do nothing
  returning number_id
),
changed as (
  update sessions s
  set credentials = :credentials, leaving_at = null
  from present p
  where s.number_id = p.number_id
    and s.credentials = :before
    and :credentials is not null
  returning s.number_id
),
wiped as (
  delete from sessions s
  where s.number_id = :numberId
    and s.credentials = :before
    and :credentials is null
  returning s.number_id
),
dropped as (
  delete from session_keys k
  using changed
  where k.number_id = changed.number_id
)
select
  exists (select from begun)
  or exists (select from changed)
  or exists (select from wiped)
  as written

-- name: lockWorkspace
-- Of two numbers that get the same phone at once the second one sees what the first one did.
select w.id
from workspaces w
where w.id = (select n.workspace_id from numbers n where n.id = :numberId)
for no key update

-- name: isAnothers
-- Whether it is the phone that is in the way: what was written since refuses first.
select exists (
  select
  from numbers n
  join sessions s on s.number_id = n.id and s.credentials = :before
  join numbers other on other.workspace_id = n.workspace_id
  left join linking_attempts a on a.number_id = other.id
  where n.id = :numberId
    and other.removed_at is null
    and has_phone(other, a.phone_before, n, :phone)
) as held

-- name: lockCampaigns
-- Before the lane, as everywhere. Index campaigns_running.
select
from campaigns c
where c.workspace_id = (select n.workspace_id from numbers n where n.id = :numberId)
  and c.state = 'running'
  and c.removed_at is null
order by c.id
for no key update

-- name: lockLane
-- The lane first, as before every change of a status.
select l.number_id
from lanes l
where l.number_id = :numberId
for no key update

-- name: relinked
-- What came since it was not connected is not given to a new login.
select report_gap(n.id, :gapEventId, 'relinked', n.away_since, :now)
from numbers n
where n.id = :numberId

-- name: account
update numbers n
set phone = coalesce(:phone, n.phone),
  status_since = status_since_after(
    n, n.status, case when n.status = 'disconnected' then 'connection_lost' end, :now
  ),
  status_reason = status_reason_after(
    n, n.status, case when n.status = 'disconnected' then 'connection_lost' end
  )
where n.id = :numberId

-- name: list
-- Never null: removed, has_conversations
select
  s.number_id, n.platform, n.status, l.removed_at is not null as removed, s.leaving_at,
  l.pause_reason, n.status_reason, n.proxy_url, c.workspace_id is not null as has_conversations
from sessions s
join numbers n on n.id = s.number_id
join lanes l on l.number_id = s.number_id
left join conversation_settings c on c.workspace_id = n.workspace_id
order by s.number_id

-- name: credentials
select s.credentials
from sessions s
where s.number_id = :numberId

-- name: keys
select k.id, k.value
from session_keys k
where k.number_id = :numberId
  and k.type = :type
  and k.id = any (:ids)

-- name: write
-- Writes of several numbers, of each one, in one statement and so in one commit; each is fenced by its
-- own shard. A session's row is written before any of its keys, so that writes of one number cannot
-- cross, and the rows in the order of their numbers, so that statements do not wait for one another in a
-- circle. What is dropped and what is written are different keys.
-- Never null: written
with fence as materialized (
  select f.shard, f.term
  from number_shards f
  where f.shard = any (:shards)
    and exists (
      select
      from unnest(:shards, :terms::bigint[]) by (shard, term)
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
  from unnest(:numberIds::bigint[], :credentials::text[], :times::timestamptz[], :shards, :terms)
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
  join unnest(
    :keyNumberIds::bigint[], :types::text[], :ids::text[], :values::text[]) key (number_id, type,
    id, value
  )
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

-- name: leave
with fence as materialized (
  select
  from number_shards f
  where f.shard = :shard
    and f.term = :term
  for share
),
leaving as (
  update sessions s
  set leaving_at = :now
  where s.number_id = :numberId
    and s.leaving_at is null
    and (:shard is null or exists (select from fence))
)
select (:shard is null or exists (select from fence)) as written

-- name: wipe
-- The keys go with their session.
with fence as materialized (
  select
  from number_shards f
  where f.shard = :shard
    and f.term = :term
  for share
),
wiped as (
  delete from sessions s
  where s.number_id = :numberId
    and (:shard is null or exists (select from fence))
)
select (:shard is null or exists (select from fence)) as written

-- name: keepPresent
-- No row where it was removed; else it is not before the transaction is over.
select l.number_id
from lanes l
where l.number_id = :numberId
  and l.removed_at is null
for share

-- name: trim
with fence as materialized (
  select
  from number_shards f
  where f.shard = :shard
    and f.term = :term
  for share
),
trimmed as (
  delete from session_keys k
  using (
    select old.id
    from session_keys old
    where old.number_id = :numberId
      and old.type = :type
    order by old.written_at desc, old.id desc
    offset :most::integer
  ) old
  where k.number_id = :numberId
    and k.type = :type
    and k.id = old.id
    and (:shard is null or exists (select from fence))
)
select (:shard is null or exists (select from fence)) as written
