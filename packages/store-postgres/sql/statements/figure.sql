-- What is not counted yet is read by position; each statement returns every row behind it, also those that
-- nothing counts, so that a reader knows the gaps. Primary keys of the three tables.

-- name: place
select p.position
from figure_places p
where p.stream = :stream

-- name: messages
select m.id, m.workspace_id, m.mode, m.created_at as at, m.refused
from messages m
where m.id > :after
order by m.id
limit :limit

-- name: events
-- Null where the message is erased: due_at, error_code
select
  o.id, o.workspace_id, o.mode, o.created_at as at, o.type, m.error_code,
  case when o.type = 'message.sent' and m.sent_at = o.created_at then m.due_at end as due_at
from outbox o
left join messages m on m.id = o.message_id
where o.id > :after
order by o.id
limit :limit

-- name: attempts
-- Without a workspace: a callback's, or one at an endpoint that is erased.
select a.id, e.workspace_id, e.mode, a.attempted_at as at, a.error
from webhook_attempts a
left join webhook_endpoints e on e.id = a.endpoint_id
where a.id > :after
order by a.id
limit :limit

-- name: messagesOf
-- Index messages_by_workspace.
select m.id, m.workspace_id, m.mode, m.created_at as at, m.refused
from messages m
where m.workspace_id = :workspaceId
  and m.mode = :mode
  and m.id > :after
  and not m.refused
order by m.id
limit :limit

-- name: eventsOf
-- Index outbox_by_workspace.
select
  o.id, o.workspace_id, o.mode, o.created_at as at, o.type, m.error_code,
  case when o.type = 'message.sent' and m.sent_at = o.created_at then m.due_at end as due_at
from outbox o
left join messages m on m.id = o.message_id
where o.workspace_id = :workspaceId
  and o.mode = :mode
  and o.id > :after
order by o.id
limit :limit

-- name: attemptsOf
-- Index webhook_attempts_by_endpoint.
select a.id, e.workspace_id, e.mode, a.attempted_at as at, a.error
from webhook_endpoints e
cross join lateral (
  select next.id, next.attempted_at, next.error
  from webhook_attempts next
  where next.endpoint_id = e.id
    and next.id > :after
  order by next.id
  limit :limit
) a
where e.workspace_id = :workspaceId
  and e.mode = :mode
order by a.id
limit :limit

-- name: hours
-- One statement, so one snapshot.
-- Never null: hours, places
select
  (
    select coalesce(json_agg(json_build_object(
      'workspaceId', f.workspace_id,
      'mode', f.mode,
      'hour', epoch_millis(f.hour),
      'accepted', f.accepted,
      'sent', f.sent,
      'failed', f.failed,
      'expired', f.expired,
      'cancelled', f.cancelled,
      'deliveries', f.deliveries,
      'deliveriesFailed', f.deliveries_failed,
      'failures', f.failures,
      'waits', f.waits
    ) order by f.hour), '[]')
    from hourly_figures f
    where f.workspace_id = :workspaceId
      and f.mode = :mode
      and f.hour >= :from
      and f.hour < :until
  ) as hours,
  (
    select json_object_agg(p.stream, p.position)
    from figure_places p
  ) as places

-- name: present
-- Indexes numbers_ever_by_workspace and messages_waiting: of each number the due ones up to now, then what
-- comes later, no more than :countAtMost of each. What has no send_at is queued, though another process's
-- clock was ahead when it was accepted, or an operator still has to release it.
-- Never null: queued, scheduled, used_bytes
with due as (
  select count(*) as count, min(m.due_at) as oldest
  from (
    select waiting.due_at
    from numbers n
    cross join lateral (
      select m.due_at
      from messages m
      where m.number_id = n.id
        and m.mode = :mode
        and m.state = 'waiting'
        and m.due_at <= :now
      order by m.due_at
      limit :countAtMost
    ) waiting
    where n.workspace_id = :workspaceId
    limit :countAtMost
  ) m
),
later as (
  select
    count(*) filter (where is_queued(m.send_at, :now)) as queued,
    count(*) filter (where is_scheduled(m.send_at, :now)) as scheduled
  from (
    select waiting.send_at
    from numbers n
    cross join lateral (
      select m.send_at
      from messages m
      where m.number_id = n.id
        and m.mode = :mode
        and m.state = 'waiting'
        and m.due_at > :now
      order by m.due_at
      limit :countAtMost
    ) waiting
    where n.workspace_id = :workspaceId
    limit :countAtMost
  ) m
)
select
  due.count + later.queued as queued,
  later.scheduled,
  due.oldest as oldest_due_at,
  coalesce(
    (select u.bytes from media_usage u where u.workspace_id = :workspaceId), 0
  )::bigint as used_bytes
from due
cross join later

-- name: forget
-- Index hourly_figures_by_age.
delete from hourly_figures f
using (
  select old.workspace_id, old.mode, old.hour
  from hourly_figures old
  where old.hour < :before
  limit :limit
) old
where f.workspace_id = old.workspace_id
  and f.mode = old.mode
  and f.hour = old.hour
returning f.workspace_id
