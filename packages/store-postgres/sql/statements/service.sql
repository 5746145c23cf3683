-- name: getOrCreateSecret
-- Writes nothing new over what is there, but answers with it: one round trip, one winner.
insert into service_secrets (name, value)
values (:name, :candidate)
on conflict (name) do update
set name = excluded.name
returning value

-- name: getSecret
select value
from service_secrets
where name = :name

-- name: replaceSecret
update service_secrets
set value = :value
where name = :name
  and value = :before

-- name: identity
-- The identity of this store; the first process that starts on it gives it the mark.
-- Never null: identity
insert into service_secrets (name, value)
values (:place, :mark)
on conflict (name) do update
set name = excluded.name
returning value || ' in ' || tableoid || ' of ' || (
  select d.oid
  from pg_catalog.pg_database d
  where d.datname = current_database()
) as identity

-- name: getSalt
select w.callback_salt
from workspaces w
where w.id = :workspaceId
  and w.deleted_at is null

-- name: putSalt
update workspaces w
set callback_salt = :salt
where w.id = :workspaceId
  and w.deleted_at is null
returning w.id

-- name: clockOffset
select offset_millis from clock

-- name: raiseClockOffset
insert into clock as present (offset_millis)
values (:to)
on conflict (singleton) do update
set offset_millis = greatest(present.offset_millis, excluded.offset_millis)
returning offset_millis

-- name: whyReadOnly
-- Why nothing can be written, as on a standby; empty where it can.
-- Never null: because
select case
  when pg_is_in_recovery() then 'the database is a standby in recovery'
  when current_setting('transaction_read_only') = 'on' then 'the database is read-only'
  else ''
end as because

-- name: examine
-- For a look at a database that may lack every table: reads no table.
-- Never null: version, millis
select
  current_setting('server_version') as version,
  floor(extract(epoch from clock_timestamp()) * 1000)::bigint as millis

-- name: databaseTime
-- Not a time that anything is stored with: those are parameters.
select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as millis

-- name: figures
with waiting as (
  -- Index messages_waiting, which holds only waiting messages: no more than :countAtMost of its entries.
  select
    count(*) filter (where is_queued(m.send_at, :now)) as queued,
    count(*) filter (where is_scheduled(m.send_at, :now)) as scheduled
  from (
    select m.send_at
    from messages m
    where m.state = 'waiting'
      and m.mode = 'live'
    limit :countAtMost::integer
  ) m
),
lane as (
  -- Every lane, by its key; of those where something waits also its first message.
  select
    min(first.due_at) filter (where first.connected) as connected_due,
    min(first.due_at) filter (where not first.connected) as not_connected_due,
    count(first.lease_until) as in_flight,
    count(*) filter (where not is_leased(first.lease_until, :now)) as run_out
  from (
    select
      l.connected, l.lease_until,
      case when l.removed_at is null then (
        select first.due_at from first_waiting(l.number_id, :now) first
      ) end as due_at
    from lanes l
    where l.next_due is not null
      or l.paused_until = 'infinity'
      or l.disabled
      -- Its message waits until the number is connected again.
      or may_have_left(l)
  ) first
),
delivery as (
  -- Index webhook_deliveries_due, from where endpoints begin: no more than :countAtMost of its entries.
  select
    count(*) as pending,
    count(*) filter (where d.attempts > 0) as retries
  from (
    select d.attempts
    from webhook_deliveries d
    where d.endpoint_id > 0
    limit :countAtMost
  ) d
),
worker as (
  -- Every process: one row for each.
  select
    count(*) filter (where not is_process_silent(p.seen_at, :now)) as alive,
    max(p.seen_at) as seen_at
  from processes p
  where p.works
),
number as (
  -- Index numbers_by_workspace.
  select n.platform, n.status, count(*) as count
  from numbers n
  where n.removed_at is null
    and n.mode = 'live'
  group by n.platform, n.status
)
select json_build_object(
  'queued', waiting.queued,
  'scheduled', waiting.scheduled,
  'firstDueAt', json_build_object(
    'connected', epoch_millis(lane.connected_due),
    'notConnected', epoch_millis(lane.not_connected_due)
  ),
  'laneDueAt', (
    -- Index lanes_due.
    select epoch_millis(l.next_due)
    from lanes l
    where l.next_due is not null
      and is_claimable(l)
    order by l.next_due
    limit 1
  ),
  'lanesInFlight', lane.in_flight,
  'leasesRunOut', lane.run_out,
  'workersAlive', worker.alive,
  'workerSeenAt', epoch_millis(worker.seen_at),
  'numbers', (select coalesce(json_agg(number), '[]') from number),
  'deliveries', delivery.pending,
  'retries', delivery.retries,
  'tables', (
    select json_agg(json_build_object(
      'name', c.relname,
      'rows', greatest(c.reltuples, 0)::bigint,
      'bytes', pg_total_relation_size(c.oid)
    ))
    from pg_catalog.pg_class c
    where c.relnamespace = to_regnamespace(:schema)
      and c.relname = any (:tables::text[])
      and c.relkind = 'r'
  )
) as figures
from waiting
cross join lane
cross join worker
cross join delivery

-- name: reportProcess
insert into processes (name, kind, works, seen_at, numbers_held, shards_held)
values (:name, :kind, :works, :seenAt, :numbersHeld::integer, :shardsHeld::integer)
on conflict (name) do update
set kind = excluded.kind,
  works = excluded.works,
  seen_at = excluded.seen_at,
  numbers_held = excluded.numbers_held,
  shards_held = excluded.shards_held

-- name: processes
select
  latest.name, latest.kind, latest.works, latest.seen_at, latest.numbers_held, latest.shards_held
from (
  select p.name, p.kind, p.works, p.seen_at, p.numbers_held, p.shards_held
  from processes p
  order by p.seen_at desc
  limit :most
) latest
order by latest.name

-- name: endProcess
delete from processes p
where p.name = :name

-- name: forgetProcesses
delete from processes p
where p.seen_at < :before
