-- name: read
select
  o.id, o.event_id, o.type, o.workspace_id, o.mode, o.message_id, o.created_at, o.body,
  (
    select m.reference
    from messages m
    where m.id = o.message_id
  ) as reference
from outbox o
where o.id > :after
order by o.id
limit :limit

-- name: latest
-- Never null: latest
select coalesce(max(o.id), 0)::bigint as latest
from outbox o

-- name: underWay
-- All transactions before this one are over. Asked before the events are read, so that the read
-- sees what those have written.
-- Never null: id
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as id

-- name: beginsNow
-- The id of a new transaction: every transaction that has taken an outbox position has a lower one.
-- pg_snapshot_xmax would not do. It follows the highest finished id, and a running one may be higher.
-- Never null: id
select pg_current_xact_id()::text::bigint as id

-- name: forget
-- Ids grow with time: what is old is at the front. What is still to be delivered is kept.
with oldest as (
  select o.id, o.created_at
  from outbox o
  order by o.id
  limit :limit
)
delete from outbox o
using oldest
where o.id = oldest.id
  and oldest.created_at < :before
  and o.id < coalesce(
    (
      select min(d.outbox_id)
      from webhook_deliveries d
    ),
    9223372036854775807
  )
returning o.id
