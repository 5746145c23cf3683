-- name: marks
-- Indexes messages_by_workspace, numbers_by_workspace, webhook_endpoints_by_workspace,
-- webhook_attempts_by_endpoint, reminders_by_workspace, campaigns_by_workspace,
-- number_checks_by_workspace and chats_by_activity: each workspace costs a bounded part of each.
-- Never null: workspace_id, topic, id, mark
with viewed as (
  select w.id
  from unnest(:workspaces::bigint[]) w (id)
),
modes as (
  select m.mode
  from unnest(array['live', 'test']) m (mode)
)
select v.id as workspace_id, 'messages' as topic, m.id, m.state as mark
from viewed v
cross join modes
cross join lateral (
  select m.id, m.state
  from messages m
  where m.workspace_id = v.id
    and m.mode = modes.mode
  order by m.id desc
  limit :recent
) m
union all
select
  v.id, 'numbers', n.id,
  concat_ws(
    '|', n.status, n.status_since, n.status_reason, n.label, n.phone, l.paused_until, l.pause_reason,
    l.pause_behind_until, l.disabled, l.pacing, n.proxy_host, n.proxy_port, a.id, a.qr_expires_at,
    a.pairing_code_expires_at, a.linking, r.state, r.reason, r.since
  )
from viewed v
cross join lateral (
  select n.*
  from numbers n
  where n.workspace_id = v.id
    and n.removed_at is null
  order by n.id
  limit :most
) n
join lanes l on l.number_id = n.id
left join linking_attempts a on a.number_id = n.id
left join connection_reports r on r.number_id = n.id
union all
select
  v.id, 'webhooks', e.id,
  concat_ws('|', e.url, e.description, e.events, e.secret_last4, e.disabled_reason, t.id)
from viewed v
cross join lateral (
  select e.*
  from webhook_endpoints e
  where e.workspace_id = v.id
    and e.removed_at is null
  order by e.id
  limit :most
) e
left join lateral (
  select t.id
  from webhook_attempts t
  where t.endpoint_id = e.id
  order by t.id desc
  limit 1
) t on true
union all
select v.id, 'reminders', d.id, d.revision::text
from viewed v
cross join modes
cross join lateral (
  select d.id, d.revision
  from reminders d
  where d.workspace_id = v.id
    and d.mode = modes.mode
    and d.removed_at is null
  order by d.id desc
  limit :most
) d
union all
-- Rows that are taken on change no revision.
select v.id, 'campaigns', d.id, concat_ws('|', d.revision, d.taken)
from viewed v
cross join modes
cross join lateral (
  select d.id, d.revision, d.last_row - d.pending - d.refused - d.skipped - d.expired as taken
  from campaigns d
  where d.workspace_id = v.id
    and d.mode = modes.mode
    and d.removed_at is null
  order by d.id desc
  limit :most
) d
union all
select v.id, 'number_checks', c.id, concat_ws('|', c.status, c.checked)
from viewed v
cross join modes
cross join lateral (
  select c.id, c.status, c.checked
  from number_checks c
  where c.workspace_id = v.id
    and c.mode = modes.mode
  order by c.id desc
  limit :recent
) c
union all
-- Without conversations no workspace has any.
select
  v.id, 'chats', c.id,
  concat_ws(
    '|', c.activity, c.unread, c.read_up_to, c.last_sent_at, shown.phone, shown.lid, shown.user_id,
    shown.username, shown.name
  )
from viewed v
cross join modes
cross join lateral (
  select c as chat, c.*
  from chats c
  where c.workspace_id = v.id
    and c.mode = modes.mode
    and c.merged_into is null
    and c.removed_at is null
  order by c.activity desc
  limit :recent
) c
cross join lateral shown_chat(c.chat) shown

-- name: changedMessages
-- Indexes outbox_pkey, outbox_by_workspace and messages_by_workspace.
-- Never null: id
with began as (
  select greatest(:notBefore::timestamptz, (
    select o.created_at
    from outbox o
    where o.id <= :position
    order by o.id desc
    limit 1
  )) as at
),
told as (
  select o.message_id as id, o.created_at
  from outbox o
  where o.workspace_id = :workspaceId
    and o.id > :position
    and o.message_id is not null
  order by o.id desc
  limit :limit
),
accepted as (
  select m.id, m.created_at
  from unnest(array['live', 'test']) modes (mode)
  cross join lateral (
    select m.id, m.created_at
    from messages m
    where m.workspace_id = :workspaceId
      and m.mode = modes.mode
    order by m.id desc
    limit :limit
  ) m
)
select told.id
from told
where told.created_at >= :notBefore::timestamptz
union
select accepted.id
from accepted
cross join began
where accepted.created_at >= began.at
