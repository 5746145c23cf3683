-- What is past a window's end does not hold back; a rest that is over neither.
select
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at,
  n.status_since, n.status_reason,
  r.number_id as report_number_id, r.state as report_state, r.reason as report_reason,
  r.since as report_since, r.last_seen_at as report_last_seen_at, r.reconnects as report_reconnects,
  r.reported_at as report_at,
  (
    -- Index messages_waiting.
    select count(*)
    from messages m
    where m.number_id = n.id
      and m.mode = 'live'
      and m.state = 'waiting'
      and not coalesce(l.head_id = m.id and l.lease_until is not null, false)
  ) as waiting,
  sent.count as sent,
  (
    -- Index messages_sent.
    select m.sent_at
    from messages m
    where m.number_id = n.id
      and m.mode = 'live'
      and m.sent_at is not null
    order by m.sent_at desc
    limit 1
  ) as last_sent_at,
  l.pause_reason,
  nullif(l.paused_until, 'infinity') as paused_until,
  l.disabled as is_disabled,
  l.lease_until is not null as is_sending,
  head.due_at as first_due_at,
  l.hold_until,
  case when head.id is not null then lane_limit(
    l.number_id, l.pacing, head.id, true, :fits, width.length, :now
  ) end as limited_until,
  case when l.no_room > 0 then l.limited_until end as no_room_until
from numbers n
join lanes l on l.number_id = n.id
cross join (values (:windowMillis * interval '1 millisecond')) width (length)
cross join lateral (
  -- Index messages_sent.
  select count(*) as count
  from messages m
  where m.number_id = n.id
    and m.mode = 'live'
    and is_in_window(m.sent_at, :now, width.length)
) sent
left join messages head on head.id = (select first.id from first_to_leave(l, :now) first)
left join connection_reports r on r.number_id = n.id
where n.id = :id
  and n.workspace_id = :workspaceId
  and n.removed_at is null
