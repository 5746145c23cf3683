-- The messages of a campaign tell what happened to rows that were taken on: their statuses are counted in an index
-- alone, so that a count is exact and costs no change of a message anything.

-- name: get
select shown.*, counted.*
from campaigns c
cross join lateral shown_campaign(c) shown
cross join lateral counted_rows(c, c.id) counted
where c.id = :id
  and c.workspace_id = :workspaceId
  and c.mode = :mode
  and c.removed_at is null

-- name: made
select c.id, c.original
from campaigns c
where c.id = :id

-- name: list
-- Index campaigns_by_workspace.
select shown.*, counted.*
from campaigns c
cross join lateral shown_campaign(c) shown
cross join lateral counted_rows(c, c.id) counted
where c.workspace_id = :workspaceId
  and c.mode = :mode
  and c.removed_at is null
  and (:states::text[] is null or c.state = any (:states))
  and c.id < :before
order by c.id desc
limit :limit

-- name: update
update campaigns c
set revision = c.revision + 1,
  look_at = :lookAt,
  name = :name,
  text = :text,
  media = :media,
  number_ids = :numberIds,
  reference = :reference,
  timezone = :timezone,
  send_at = :sendAt,
  hours = :hours,
  expires_at = :expiresAt,
  quota_reserve = :quotaReserve,
  default_country_code = :defaultCountryCode,
  duplicates = :duplicates
where c.id = :id
  and c.revision = :revision
  and c.removed_at is null
returning c.id

-- name: abandonUpload
with abandoned as (
  update campaigns c
  set upload = null,
    upload_until = null
  where c.id = :id
    and c.upload = :upload
    and c.removed_at is null
  returning c.id, c.last_row
)
delete from campaign_rows r
using abandoned
where r.campaign_id = abandoned.id
  and r.row > abandoned.last_row

-- name: firstRows
-- Index campaign_rows_by_key.
-- Never null: key, row
select asked.key, first.row
from campaigns c
cross join unnest(:keys::text[]) asked (key)
cross join lateral (
  select r.row
  from campaign_rows r
  where r.campaign_id = c.id
    and r.recipient_key = asked.key
    and r.state <> 'taken'
    and (r.row <= c.last_row or c.upload = :upload)
  order by r.row
  limit 1
) first
where c.id = :id
  and c.removed_at is null

-- name: putOff
update campaigns c
set look_at = look_after(c, :lookAt, :now),
  woken_at = null,
  looked_at = :now,
  awaits = :awaits,
  awaits_room = :awaitsRoom,
  awaits_given_back = :awaitsGivenBack,
  awaits_allowance = :awaitsAllowance,
  turn = default
where c.id = :id
  and c.revision = :revision
  and c.removed_at is null

-- name: due
-- Never null: id
select look.id
from campaign_looks() look
where look.due <= :now
group by look.id, look.turn
order by look.turn
limit :limit

-- name: look
-- All that looks read, in one round trip. Indexes numbers_by_workspace, messages_waiting, campaign_rows_pending,
-- campaign_rows_expiring and messages_by_campaign.
-- Never null: pending, has_waiting
select
  shown.*, w.id as w_id, w.name as w_name, w.demo as w_demo, w.account_disabled as w_account_disabled,
  w.api_v2_enabled as w_api_v2_enabled, w.plan_name as w_plan_name,
  w.plan_messages_remaining as w_plan_messages_remaining, w.plan_reminders as w_plan_reminders,
  w.plan_qr_code_api as w_plan_qr_code_api, w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at,
  pending_rows(c) as pending,
  (
    select json_agg(
      json_build_object(
        'number', json_build_object(
          'id', n.id, 'workspaceId', n.workspace_id, 'mode', n.mode, 'phone', n.phone, 'label',
          n.label, 'platform', n.platform, 'status', n.status, 'loginMethod', n.login_method,
          'createdAt', epoch_millis(n.created_at)
        ),
        'isPaused', l.paused_until > :now,
        'pausedUntil', epoch_millis(nullif(l.paused_until, 'infinity')),
        'waiting', (
          select count(*)
          from (
            select
            from messages m
            where m.number_id = n.id
              and m.mode = c.mode
              and m.state = 'waiting'
              and m.due_at <= :now
            limit :fullQueue
          ) queue
        ),
        'restrictedSince', epoch_millis(restricted_since(l, n, :now)),
        'pacing', l.pacing,
        'givenBack', l.given_back
      )
      order by n.id
    )
    from numbers n
    join lanes l on l.number_id = n.id
    where n.workspace_id = c.workspace_id
      and n.removed_at is null
      and (n.mode = 'live' or c.mode = 'test')
      and coalesce(n.id = any (c.number_ids), true)
  ) as numbers,
  (
    select json_agg(
      json_build_object(
        'row', r.row, 'line', r.line, 'to', r.recipient, 'needs', r.needs, 'recipientKey',
        r.recipient_key, 'phone', r.phone, 'values', r.row_values, 'sendAt', epoch_millis(r.send_at),
        'expiresAt', epoch_millis(r.expires_at)
      )
      order by coalesce(r.send_at, '-infinity'), r.row
    )
    from unnest(array['whatsapp', 'telegram', 'either']) asked (needs)
    cross join lateral (
      select *
      from campaign_rows p
      where pending_rows(c) > 0
        and p.campaign_id = c.id
        and p.needs = asked.needs
        and p.state = 'pending'
        and p.row <= c.last_row
        and coalesce(p.send_at, '-infinity') <= :now
      order by coalesce(p.send_at, '-infinity'), p.row
      limit :limit
    ) r
  ) as rows,
  (
    select min(r.send_at)
    from unnest(array['whatsapp', 'telegram', 'either']) asked (needs)
    cross join lateral (
      select p.send_at
      from campaign_rows p
      where pending_rows(c) > 0
        and p.campaign_id = c.id
        and p.needs = asked.needs
        and p.state = 'pending'
        and p.row <= c.last_row
        and coalesce(p.send_at, '-infinity') > :now
      order by coalesce(p.send_at, '-infinity')
      limit 1
    ) r
  ) as next_row_at,
  (
    select p.expires_at
    from campaign_rows p
    where pending_rows(c) > 0
      and p.campaign_id = c.id
      and p.state = 'pending'
      and p.row <= c.last_row
      and p.expires_at is not null
    order by p.expires_at
    limit 1
  ) as next_expiry_at,
  exists (
    select
    from messages m
    where m.campaign_id = c.id
      and m.state = 'waiting'
  ) as has_waiting
from campaigns c
join workspaces w on w.id = c.workspace_id
cross join lateral shown_campaign(c) shown
where c.id = any (:ids)
  and c.removed_at is null
order by c.id

-- name: waiting
-- Index messages_by_campaign.
select shown.*
from messages m
join lanes l on l.number_id = m.number_id
cross join lateral shown_message(m, m.number_id) shown
where m.campaign_id = :id
  and m.state = 'waiting'
  and not is_in_flight(m, l)
order by m.id
limit :limit

-- name: settled
-- Nothing of them waits any more. Index campaigns_orphaned.
update campaigns c
set orphaned = false
where c.orphaned
  and not exists (
    select
    from messages m
    where m.campaign_id = c.id
      and m.state = 'waiting'
  )

-- name: uploads
-- What broken uploads left behind. Index campaigns_uploading.
delete from campaign_rows gone
using (
  select r.campaign_id, r.row
  from campaigns c
  join campaign_rows r on r.campaign_id = c.id
    and r.row > c.last_row
  where c.upload is not null
    and c.upload_until < :now
  limit :limit
) found
where gone.campaign_id = found.campaign_id
  and gone.row = found.row
returning gone.row

-- name: endUploads
-- Their rows are gone by now.
update campaigns c
set upload = null,
  upload_until = null
where c.upload is not null
  and c.upload_until < :now
  and not exists (
    select
    from campaign_rows r
    where r.campaign_id = c.id
      and r.row > c.last_row
  )

-- name: removedRows
-- Index campaigns_removed.
delete from campaign_rows gone
using (
  select r.campaign_id, r.row
  from campaigns c
  join campaign_rows r on r.campaign_id = c.id
  where c.removed_at is not null
    and c.erased_at is null
  limit :limit
) found
where gone.campaign_id = found.campaign_id
  and gone.row = found.row
returning gone.row

-- name: removed
-- Their rows are gone by now. Index idempotency_records_of_numbers.
with unshown as (
  update idempotency_records r
  set shown = null
  from campaigns c
  where c.removed_at is not null
    and c.erased_at is null
    and r.made_ids[1] = -c.id
    and r.shown is not null
)
update campaigns c
set erased_at = :now,
  name = '',
  text = '',
  media = null,
  reference = null,
  original = null,
  upload = null,
  upload_until = null
where c.removed_at is not null
  and c.erased_at is null
  and not exists (
    select
    from campaign_rows r
    where r.campaign_id = c.id
  )

-- name: figures
-- Never null: state, campaigns, pending
select
  c.state, count(*) as campaigns, sum(pending_rows(c))::bigint as pending
from campaigns c
where c.removed_at is null
group by c.state

-- name: dueSince
select min(look.due) as due
from campaign_looks() look
where look.due <= :now
