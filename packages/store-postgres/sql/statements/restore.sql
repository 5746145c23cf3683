-- name: epoch
select
  coalesce(latest.epoch, 1) as epoch,
  exists (
    select
    from messages m
    where m.id > latest.after_message
  ) as "hasAccepted"
from (select) one
left join (
  select *
  from store_epochs e
  order by e.epoch desc
  limit 1
) latest on true

-- name: counts
-- Never null: workspaceId, messages, reminders, campaigns
select
  coalesce(m.workspace_id, r.workspace_id, c.workspace_id) as "workspaceId",
  coalesce(m.count, 0) as messages,
  coalesce(r.count, 0) as reminders,
  coalesce(c.count, 0) as campaigns
from (
  select l.workspace_id, count(*) as count
  from lanes l
  cross join lateral (
  select m.*
  from unnest('{live,test}'::text[]) modes (mode)
  cross join lateral (
    select *
    from messages held
    where held.number_id = l.number_id
      and held.mode = modes.mode
      and held.state = 'waiting'
      and is_held_by_restore(held)
  ) m) held
  where l.removed_at is null
  group by l.workspace_id
) m
full join (
  select r.workspace_id, count(*) as count
  from reminders r
  where r.held_run_at is not null
  group by r.workspace_id
) r on r.workspace_id = m.workspace_id
full join (
  select c.workspace_id, count(*) as count
  from campaigns c
  where c.removed_at is null
    and c.state = 'paused'
    and c.asks_from_row
  group by c.workspace_id
) c on c.workspace_id = coalesce(m.workspace_id, r.workspace_id)
order by 1

-- name: list
select shown.*
from lanes l
cross join lateral (
  select m.*
  from unnest('{live,test}'::text[]) modes (mode)
  cross join lateral (
    select *
    from messages held
    where held.number_id = l.number_id
      and held.mode = modes.mode
      and held.state = 'waiting'
      and is_held_by_restore(held)
      and held.id < :before
    order by held.id desc
    limit :limit
  ) m
) m
cross join lateral shown_message(m, m.number_id) shown
where l.workspace_id = :workspaceId
  and l.removed_at is null
  and m.id < :before
order by m.id desc
limit :limit

-- name: messages
select shown.*
from lanes l
cross join lateral (
  select m.*
  from unnest('{live,test}'::text[]) modes (mode)
  cross join lateral (
    select *
    from messages held
    where held.number_id = l.number_id
      and held.mode = modes.mode
      and held.state = 'waiting'
      and is_held_by_restore(held)
  ) m
) m
cross join lateral shown_message(m, m.number_id) shown
where l.workspace_id = :workspaceId
  and l.removed_at is null
  and m.workspace_id = :workspaceId
  and (:from::bigint is null or m.number_id = :from)
  and (:since::timestamptz is null or m.created_at >= :since)
  and (:until::timestamptz is null or m.created_at < :until)
  and (:dueUntil::timestamptz is null or planned_time(m.due_at, m.send_at, m.created_at) <= :dueUntil)
order by m.id
limit :limit

-- name: byIds
select shown.*
from messages m
cross join lateral shown_message(m, m.number_id) shown
where m.id = any (:ids)
  and m.workspace_id = :workspaceId
  and is_waiting(m)
  and is_held_by_restore(m)
order by m.id
limit :limit

-- name: reminders
-- Index reminders_held.
-- Never null: held_run_at
select
  r.id, r.workspace_id, r.mode, r.next_run_at, r.created_at, r.name, r.active, r.recipient,
  r.number_id, r.text, r.media, r.cron, r.timezone, r.revision,
  (
    select json_build_object(
      'dueAt', epoch_millis(l.due_at), 'outcome', l.outcome, 'messageId', (select m.id from messages m where m.id = l.message_id),
      'code', l.code
    )
    from reminder_runs l
    where l.reminder_id = r.id
    order by l.id desc
    limit 1
  ) as "lastRun",
  r.held_run_at
from reminders r
where r.held_run_at is not null
  and r.workspace_id = :workspaceId
  and (:from::bigint is null or r.number_id = :from)
  and (:since::timestamptz is null or r.created_at >= :since)
  and (:until::timestamptz is null or r.created_at < :until)
order by r.id
limit :limit

-- name: isHeld
select is_waiting(m) and is_held_by_restore(m) as held
from messages m
where m.id = :id

-- name: position
-- One statement, so one snapshot.
select json_build_object(
  'epoch', (select coalesce(max(e.epoch), 1) from store_epochs e),
  'messages', json_build_object(
    'given', greatest(
      coalesce(
        pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', :schema::text, 'messages'), 'id')::regclass),
        0
      ),
      (select coalesce(max(given.id), 0) from messages given)
    ),
    'highest', (select coalesce(max(highest.id), 0) from messages highest)
  ),
  'events', json_build_object(
    'given', greatest(
      coalesce(
        pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', :schema, 'outbox'), 'id')::regclass),
        0
      ),
      (select coalesce(max(given.id), 0) from outbox given)
    ),
    'highest', (select coalesce(max(highest.id), 0) from outbox highest)
  ),
  'server', pg_postmaster_start_time()::text,
  'risks', array_remove(
    array[
      case when current_setting('synchronous_commit') = 'off' then 'asynchronous_commit' end,
      case
        when exists (select from pg_stat_replication)
          and (
            current_setting('synchronous_standby_names') = ''
            or current_setting('synchronous_commit') = 'local'
          )
        then 'asynchronous_standby'
      end
    ],
    null
  ),
  -- See end_messages.
  'heldByCallers', (
    select coalesce(
      json_agg(json_build_object(
        'numberId', held.objid::bigint, 'transaction', held.virtualtransaction
      )),
      '[]'
    )
    from pg_catalog.pg_locks held
    where held.locktype = 'advisory'
      and held.objsubid = 2
      and held.classid = to_regclass(format('%I.%I', :schema, 'lanes'))
      and held.database = (
        select d.oid
        from pg_catalog.pg_database d
        where d.datname = current_database()
      )
  ),
  'missing', (
    select min(asked.id)
    from unnest(:accepted::bigint[]) asked (id)
    where not exists (
      select
      from messages m
      where m.id = asked.id
    )
  ),
  'waitsAgain', (
    select min(m.id)
    from messages m
    where m.id = any (:ended)
      and is_waiting(m)
  )
) as position
