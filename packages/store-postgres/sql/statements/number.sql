-- name: report
insert into connection_reports (
  reported_at, number_id, state, reason, since, last_seen_at, reconnects
)
select :now, r.number_id, r.state, r.reason, r.since, r.last_seen_at, r.reconnects
from unnest(
  :numberId::bigint[], :state::text[], :reason::text[], :since::timestamptz[],
  :lastSeenAt::timestamptz[], :reconnects::integer[]
) r (number_id, state, reason, since, last_seen_at, reconnects)
join numbers n on n.id = r.number_id
order by r.number_id
on conflict (number_id) do update
set reported_at = excluded.reported_at,
  number_id = excluded.number_id, state = excluded.state, reason = excluded.reason,
  since = excluded.since, last_seen_at = excluded.last_seen_at, reconnects = excluded.reconnects

-- name: connections
-- Of one number of the workspace, or of all, oldest first. Index numbers_by_workspace.
-- What is past a window's end does not hold back; a rest that is over neither.
-- Never null: id, workspace_id, mode, label, platform, status, login_method, created_at, waiting, sent,
-- is_disabled, is_sending, planned, hours
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
      and not coalesce(is_in_flight(m, l) and is_leased(l.lease_until, :now), false)
  ) as waiting,
  sent.count as sent,
  (
    -- Index messages_sent: what was sent after the latest in its order is in front of that.
    select max(sent_since.sent_at)
    from (
      select m.sent_at
      from messages m
      where m.number_id = n.id
        and m.state <> 'waiting'
        and m.sent_at is not null
        and counts_in_quota(m)
      order by greatest(m.sent_at, m.due_at) desc
      limit 1
    ) latest
    cross join lateral sent_after(n.id, latest.sent_at - interval '1 microsecond') sent_since
  ) as last_sent_at,
  l.pause_reason,
  nullif(l.paused_until, 'infinity') as paused_until,
  l.disabled as is_disabled,
  coalesce(is_leased(l.lease_until, :now), false) as is_sending,
  head.due_at as first_due_at,
  l.hold_until,
  case when head.id is not null then lane_limit(
    l.number_id, l.pacing, head.id, true, :fits, width.length, :now
  ) end as limited_until,
  case when l.no_room > 0 then l.limited_until end as no_room_until,
  planned.planned,
  quota_room_at(n.id, :now, 1, :fits, width.length) as room_at,
  (
    select array_agg(coalesce(counted.count, 0)::integer order by hours.hour)
    from generate_series(0, 23) hours (hour)
    left join (
      select
        23 - floor(extract(epoch from :now - sent.sent_at) / 3600)::integer as hour,
        count(*) as count
      from sent_after(n.id, :now::timestamptz - interval '24 hours') sent
      where is_in_window(sent.sent_at, :now, interval '24 hours')
      group by 1
    ) counted on counted.hour = hours.hour
  ) as hours
from numbers n
join lanes l on l.number_id = n.id
cross join (values (:windowMillis::bigint * interval '1 millisecond')) width (length)
cross join lateral (
  select count(*) as count
  from sent_after(n.id, :now::timestamptz - width.length) sent
  where is_in_window(sent.sent_at, :now, width.length)
) sent
cross join lateral count_planned(n.id, :now, :now, width.length, null, null) planned
left join messages head on head.id = (select first.id from first_to_leave(l, :now) first)
left join connection_reports r on r.number_id = n.id
where n.workspace_id = :workspaceId
  and n.id = coalesce(:id, n.id)
  and n.removed_at is null
order by n.id
limit :limit

-- name: lockCampaigns
-- Before lanes and workspaces, as everywhere. Index campaigns_running.
select
from campaigns c
where c.workspace_id = :workspaceId
  and c.state = 'running'
  and c.removed_at is null
order by c.id
for no key update

-- name: lockWorkspace
-- Numbers that are made unless they are there come one after the other in their workspace.
select
from workspaces w
where w.id = :workspaceId
for no key update

-- name: insert
-- Makes the number and its lane. The workspace's row is locked against deletion meanwhile; a number
-- made in a workspace that is deleted already counts as removed from the start.
with workspace as (
  select w.id, w.deleted_at, w.account_disabled
  from (select look_at_campaigns(:workspaceId, :createdAt)) looked
  cross join workspaces w
  where w.id = :workspaceId
  for share of w
),
number as (
  insert into numbers (
    workspace_id, mode, phone, label, platform, status, login_method, created_at, removed_at
  )
  select
    :workspaceId, :mode, :phone, :label, :platform, :status, :loginMethod, :createdAt,
    workspace.deleted_at
  from workspace
  returning *
),
lane as (
  insert into lanes (number_id, workspace_id, connected, removed_at, pacing, disabled)
  select
    number.id, number.workspace_id,
    number.status = 'connected' and number.removed_at is null, number.removed_at, :pacing,
    workspace.account_disabled and workspace.deleted_at is null
  from number
  cross join workspace
)
select
  number.id, number.workspace_id, number.mode, number.phone, number.label, number.platform,
  number.status, number.login_method, number.created_at
from number

-- name: get
-- Of that workspace, or of any.
select
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at
from numbers n
where n.id = :id
  and n.workspace_id = coalesce(:workspaceId, n.workspace_id)
  and n.removed_at is null

-- name: list
-- Index numbers_by_workspace.
select
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at
from numbers n
where n.workspace_id = :workspaceId
  and n.removed_at is null
order by n.id

-- name: settings
select n.id, l.pacing, n.proxy_host, n.proxy_port, n.proxy_url
from numbers n
join lanes l on l.number_id = n.id
where n.id = any (:ids)
  and n.removed_at is null

-- name: lockPacing
-- The lane is locked: of two changes the second continues from what the first has written.
select l.pacing
from lanes l
where l.number_id = :id
  and l.workspace_id = :workspaceId
for no key update

-- name: change
update numbers n
set label = coalesce(:label, n.label),
  proxy_host = case when :keepsProxy then n.proxy_host else :proxyHost end,
  proxy_port = case when :keepsProxy then n.proxy_port else :proxyPort end,
  proxy_url = case when :keepsProxy then n.proxy_url else :proxyUrl end
where n.id = :id
  and n.workspace_id = :workspaceId
  and n.removed_at is null
returning
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at

-- name: callback
select n.callback_url
from numbers n
where n.id = :id
  and n.removed_at is null

-- name: lockLaneToRestrict
-- Before the number, as everywhere.
select l.number_id
from lanes l
where l.number_id = :id
for no key update

-- name: lockToRestrict
-- A number of a workspace with conversations; neither goes before the end.
-- Never null: id, workspace_id, mode, label, platform, status, login_method, created_at
select
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at
from numbers n
join conversation_settings c on c.workspace_id = n.workspace_id
where n.id = :id
  and n.removed_at is null
for no key update of n
for key share of c

-- name: restrictions
select
  r.state, r.until, r.reason, r.chat_limit, r.chats_used, r.resets_at, r.warning, r.checked_at,
  nullif(r.waits_until, 'infinity') as waits_until, r.waits_until = 'infinity' as waits_endlessly, r.is_reported
from number_restrictions r
where r.number_id = :id
  and r.workspace_id = :workspaceId
