-- name: nextId
-- Never null: id
select nextval('messages_id_seq') as id

-- name: loadAcceptance
-- Queries are answered in the order of the list, claims included.
select load_acceptance(asked.query) as facts
from jsonb_array_elements(:queries::jsonb) with ordinality asked (query, place)
order by asked.place

-- name: get
-- Never null: in_flight
select shown.*, is_in_flight(m, l) as in_flight
from messages m
left join lanes l on l.number_id = m.number_id
cross join lateral shown_message(m, m.number_id) shown
where m.id = :id
  and m.workspace_id = :workspaceId
  and m.mode = :mode
  and (:restriction::bigint[] is null or m.number_id = any (:restriction))

-- name: byIds
select shown.*
from unnest(:ids::bigint[]) with ordinality asked (id, place)
join messages m on m.id = asked.id
cross join lateral shown_message(m, m.number_id) shown
order by asked.place

-- name: expired
-- Index messages_expiring.
select shown.*
from messages m
cross join lateral shown_message(m, m.number_id) shown
where m.state = 'waiting'
  and has_expired(m, :now)
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and is_in_flight(m, l)
  )
order by m.expires_at
limit :limit

-- name: dueTest
-- Index messages_test_due_of_workspace, in its words: from one workspace with waiting test messages to the
-- next, and of each the first that are due. What one of them has beyond its share is not read.
with recursive owner (id) as (
  (
    select m.workspace_id
    from messages m
    where is_waiting(m)
      and m.mode = 'test'
    order by m.workspace_id
    limit 1
  )
  union all
  select (
    select m.workspace_id
    from messages m
    where is_waiting(m)
      and m.mode = 'test'
      and m.workspace_id > owner.id
    order by m.workspace_id
    limit 1
  )
  from owner
  where owner.id is not null
)
select shown.*
from owner
cross join lateral (
  select *
  from messages m
  where is_waiting(m)
    and m.mode = 'test'
    and m.workspace_id = owner.id
    and m.due_at <= :now
    and not_expired(m, :now)
    and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and (l.removed_at is not null or l.disabled)
  )
  order by m.due_at, m.id
  limit least(:perWorkspace::integer, :limit)
) m
cross join lateral shown_message(m, m.number_id) shown
order by m.due_at, m.id
limit :limit

-- name: orphaned
-- Index lanes_orphaned, then messages_waiting; campaigns_orphaned, then messages_by_campaign.
select shown.*
from (
  select m.id
  from lanes l
  cross join lateral (
    select w.id
    from messages w
    where w.number_id = l.number_id
      and w.state = 'waiting'
      and not is_in_flight(w, l)
    limit :limit
  ) m
  where l.orphaned
  union
  select m.id
  from campaigns c
  cross join lateral (
    select w.id
    from messages w
    join lanes l on l.number_id = w.number_id
    where w.campaign_id = c.id
      and w.state = 'waiting'
      and not is_in_flight(w, l)
    limit :limit
  ) m
  where c.orphaned
  limit :limit
) found
join messages m on m.id = found.id
cross join lateral shown_message(m, m.number_id) shown

-- name: byTransportId
-- Index messages_by_transport_id.
select shown.*
from messages m
cross join lateral shown_message(m, m.number_id) shown
where m.transport_id = :transportId
  and m.number_id = :numberId
limit 1

-- name: tick
-- Locks only the message, and so sees its real state; no lane matters. Where its workspace has conversations it
-- changes nothing, and says whether the tick takes an event.
with known as materialized (
  select *
  from messages m
  where m.transport_id = :transportId
    and m.number_id = :numberId
  limit 1
  for no key update
),
outcome as materialized (
  select
    case
      when known.state <> all (:from) then 'none'
      when :announces and has_conversations(known.workspace_id) then 'announced'
      else 'moved'
    end as tag
  from known
),
early as (
  update messages m
  set early_tick = case when m.early_tick = 'read' then 'read' else :state end
  from known
  where m.id = known.id
    and known.state = 'waiting'
),
moved as (
  update messages m
  set state = :state,
    early_tick = case when :state::text <> 'read' then nullif(m.early_tick, :state) end,
    delivered_at = case when :state::text = 'delivered' then :now else m.delivered_at end,
    read_at = case when :state::text = 'read' then :now else m.read_at end
  from known
  where m.id = known.id
    and (select outcome.tag from outcome) = 'moved'
  returning m.*
)
select shown.*, false as announced
from moved
cross join lateral shown_message(moved, moved.number_id) shown
union all
select shown.*, outcome.tag = 'announced' as announced
from known
cross join outcome
cross join lateral shown_message(known, known.number_id) shown
where outcome.tag <> 'moved'

-- name: earlyTicks
-- Index messages_early_ticks.
select m.number_id, m.transport_id, m.early_tick as tick
from messages m
where m.early_tick is not null
  and (m.state = 'sent' or m.state = 'delivered' and m.early_tick = 'read')
order by m.id
limit :limit

-- name: dueTestTicks
-- Never null: number_id, transport_id, tick
select t.number_id, t.transport_id, t.tick
from test_ticks() t
where t.at <= :now
order by t.at, t.id
limit :limit

-- name: timeline
-- Of either mode. Index messages_waiting for those before it.
-- Never null: ahead
select
  shown.*, m.delivered_at, m.read_at, e.event_id, e.type as event_type, e.created_at as event_at,
  case when is_waiting(m) then before.count else 0 end as ahead,
  (
    select json_build_object('until', epoch_millis(nullif(l.new_chats_until, 'infinity')))
    from lanes l
    where l.number_id = m.number_id
      and waits_for_new_chats(l.new_chats_until, :now)
      and is_waiting(m)
      and m.mode = 'live'
      and (m.awaits_new_chats or not is_known_recipient(m))
  ) as new_chats
from messages m
left join outbox e on e.id = m.event_position
cross join lateral (
  select count(*)
  from (
    select
    from messages w
    where is_waiting(m)
      and w.number_id = m.number_id
      and w.mode = m.mode
      and w.state = 'waiting'
      and w.due_at <= :now
      and (w.due_at, w.id) < (m.due_at, m.id)
      and not_expired(w, :now)
    order by w.due_at, w.id
    limit :mostAhead
  ) first
) before
cross join lateral shown_message(m, m.number_id) shown
where m.id = :id
  and m.workspace_id = :workspaceId

-- name: attempts
-- The primary key.
select a.attempted_at, a.unfinished, a.next_attempt_at
from message_attempts a
where a.message_id = :id
order by a.id desc
limit :limit

-- name: deliveries
-- Index webhook_attempts_by_event. A callback's URL is its own.
select
  a.attempted_at, case when a.workspace_id is null then a.endpoint_id end as webhook_id,
  coalesce(a.url, e.url) as url, a.attempt, a.response_status, a.error, a.duration_millis,
  a.next_attempt_at
from messages m
join webhook_attempts a on a.outbox_id = m.event_position
left join webhook_endpoints e on e.id = a.endpoint_id
where m.id = :id
order by a.id desc
limit :limit

-- name: waitingIds
-- The first of a workspace's waiting messages. Indexes numbers_ever_by_workspace and messages_waiting: an index in
-- the order of ids would cost every acceptance, so that all that wait are read.
select m.id
from numbers n
join messages m on m.number_id = n.id
  and m.state = 'waiting'
  and m.mode = :mode
where n.workspace_id = :workspaceId
  and (:from::bigint is null or n.id = :from)
  and (:phone::text is null or m.to_phone = :phone)
  and ((:queued and is_queued(m.send_at, :now)) or (:scheduled and is_scheduled(m.send_at, :now)))
  and m.created_at >= :since
  and m.created_at < :until
order by m.id
limit :limit

-- name: found
-- Of either mode.
-- Never null: in_flight
select shown.*, is_in_flight(m, l) as in_flight
from messages m
left join lanes l on l.number_id = m.number_id
cross join lateral shown_message(m, m.number_id) shown
where m.id = any (:ids::bigint[])
  and m.workspace_id = :workspaceId
order by m.id
