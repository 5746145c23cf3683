-- Every statement deletes or empties a few rows at a time, and runs again until it finds fewer.

-- name: oldRecipients
-- Whom a number wrote to for the first time before its workspace's moment: the next message to them is
-- one to a new recipient again. Indexes numbers_ever_by_workspace and lane_recipients_by_time.
delete from lane_recipients gone
using (
  select found.number_id, found.recipient
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join numbers n on n.workspace_id = list.owner
  join lane_recipients found on found.number_id = n.id
    and found.first_sent_at < before
  limit :limit
) found
where gone.number_id = found.number_id
  and gone.recipient = found.recipient
returning gone.number_id

-- name: endedResults
-- Of number checks that were complete before their workspace's moment. Indexes
-- number_checks_by_workspace and number_check_results_by_check.
delete from number_check_results gone
using (
  select found.id
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join number_checks c on c.workspace_id = list.owner
    and c.completed_at < before
  join number_check_results found on found.check_id = c.id
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: endedChecks
-- Their results are gone by now.
delete from number_checks gone
using (
  select found.id
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join number_checks found on found.workspace_id = list.owner
    and found.completed_at < before
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: endedRuns
-- Of reminders that were deleted before their workspace's moment. Indexes reminders_removed and
-- reminder_runs_by_reminder.
delete from reminder_runs gone
using (
  select found.id
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join reminders r on r.workspace_id = list.owner
    and r.removed_at < before
    and r.removed_at is not null
  join reminder_runs found on found.reminder_id = r.id
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: endedReminders
-- Their runs are gone by now. Index reminders_removed.
delete from reminders gone
using (
  select found.id
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join reminders found on found.workspace_id = list.owner
    and found.removed_at < before
    and found.removed_at is not null
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: endedCampaigns
-- They are unknown from now on. Index campaigns_ended.
update campaigns c
set removed_at = c.ended_at
from (
  select found.id
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join campaigns found on found.workspace_id = list.owner
    and found.ended_at < before
    and found.ended_at is not null
    and found.removed_at is null
  limit :limit
) found
where c.id = found.id
returning c.id

-- name: endedCampaignRows
-- Index campaigns_removed.
delete from campaign_rows gone
using (
  select r.campaign_id, r.row
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join campaigns c on c.workspace_id = list.owner
    and c.ended_at < before
    and c.removed_at is not null
    and c.erased_at is null
  join campaign_rows r on r.campaign_id = c.id
  limit :limit
) found
where gone.campaign_id = found.campaign_id
  and gone.row = found.row
returning gone.row

-- name: erasedCampaigns
-- Their rows are gone by now. Ids, times and counts stay.
update campaigns c
set erased_at = found.before,
  name = '',
  text = '',
  media = null,
  reference = null,
  original = null
from (
  select found.id, list.before
  from unnest(:owners::bigint[], :befores::timestamptz[]) list (owner, before)
  join campaigns found on found.workspace_id = list.owner
    and found.ended_at < before
    and found.removed_at is not null
    and found.erased_at is null
  limit :limit
) found
where c.id = found.id
returning c.id

-- name: workspaces
select w.id, w.retention_days, w.deleted_at
from workspaces w
where w.id > :after
  and w.erased_at is null
order by w.id
limit :limit

-- name: endpoints
-- Index webhook_endpoints_ever_by_workspace.
select e.id, e.workspace_id
from webhook_endpoints e
where e.workspace_id = any (:ids)
order by e.id

-- name: testMessages
-- The newest ended test message of each workspace that is one too many. Index messages_by_workspace
-- alone tells that a workspace has few; only of one that has many are the messages looked at.
select list.id as workspace_id, first.id
from unnest(:ids::bigint[]) list (id)
cross join lateral (
  select
  from messages m
  where m.workspace_id = list.id
    and m.mode = 'test'
  order by m.id desc
  offset :most
  limit 1
) many
cross join lateral (
  select m.id
  from messages m
  where m.workspace_id = list.id
    and m.mode = 'test'
    and m.state <> 'waiting'
  order by m.id desc
  offset :most
  limit 1
) first

-- name: removedReports
-- Index numbers_to_erase: removed, and not erased yet.
delete from connection_reports gone
using (
  select found.number_id
  from connection_reports found
  join numbers n on n.id = found.number_id
  where n.removed_at is not null
    and n.erased_at is null
    -- Index messages_waiting. A message that waits shows its number's phone.
    and not exists (
      select
      from messages m
      where m.number_id = n.id
        and m.state = 'waiting'
    )
  limit :limit
) found
where gone.number_id = found.number_id
returning gone.number_id

-- name: removedBehaviours
-- Index numbers_to_erase.
delete from simulated_behaviours gone
using (
  select found.number_id
  from simulated_behaviours found
  join numbers n on n.id = found.number_id
  where n.removed_at is not null
    and n.erased_at is null
    -- Index messages_waiting. A message that waits shows its number's phone.
    and not exists (
      select
      from messages m
      where m.number_id = n.id
        and m.state = 'waiting'
    )
  limit :limit
) found
where gone.number_id = found.number_id
returning gone.number_id

-- name: removedRecipients
-- Index numbers_to_erase.
delete from lane_recipients gone
using (
  select found.number_id, found.recipient
  from lane_recipients found
  join numbers n on n.id = found.number_id
  where n.removed_at is not null
    and n.erased_at is null
    -- Index messages_waiting. A message that waits shows its number's phone.
    and not exists (
      select
      from messages m
      where m.number_id = n.id
        and m.state = 'waiting'
    )
  limit :limit
) found
where gone.number_id = found.number_id
  and gone.recipient = found.recipient
returning gone.number_id

-- name: numbers
-- A session that is still to be logged out is logged out through the number's proxy. Index
-- idempotency_records_of_numbers.
with gone as materialized (
  select n.id, exists (select from sessions s where s.number_id = n.id) as leaving
  from numbers n
  where n.removed_at is not null
    and n.erased_at is null
    -- Index messages_waiting. A message that waits shows its number's phone.
    and not exists (
      select
      from messages m
      where m.number_id = n.id
        and m.state = 'waiting'
    )
    and (
      n.phone is not null
      or n.label <> ''
      or n.callback_url is not null
      or not exists (select from sessions s where s.number_id = n.id)
    )
  order by n.id
  limit :limit
),
unshown as (
  update idempotency_records r
  set shown = null
  from gone
  where r.made_ids[1] = gone.id
    and r.shown is not null
)
update numbers n
set label = '',
  phone = null,
  callback_url = null,
  proxy_host = case when gone.leaving then n.proxy_host end,
  proxy_port = case when gone.leaving then n.proxy_port end,
  proxy_url = case when gone.leaving then n.proxy_url end,
  erased_at = case when not gone.leaving then :now::timestamptz end
from gone
where n.id = gone.id
returning n.id

-- name: removedSessions
delete from sessions gone
using (
  select found.number_id
  from sessions found
  join lanes l on l.number_id = found.number_id
  where l.removed_at < :before
  limit :limit
) found
where gone.number_id = found.number_id
returning gone.number_id

-- name: revokedKeys
-- Index api_keys_to_erase.
with gone as materialized (
  select k.id
  from api_keys k
  where k.erased_at is null
    and k.revoked_at is not null
  order by k.id
  limit :limit
),
forgotten as (
  update key_windows u
  set last_used_ip = null
  from gone
  where u.key_id = gone.id
)
update api_keys k
set name = '',
  erased_at = :now
from gone
where k.id = gone.id
returning k.id

-- name: removedEndpoints
-- Index webhook_endpoints_to_erase.
with gone as materialized (
  select e.id
  from webhook_endpoints e
  where e.removed_at < :before
    and e.removed_at is not null
    and e.url <> ''
  limit :limit
)
update webhook_endpoints e
set url = '',
  description = '',
  original = null,
  secret_salt = '',
  secret_last4 = '',
  first_secret_last4 = ''
from gone
where e.id = gone.id
returning e.id

-- name: keysOf
-- Index api_keys_by_workspace.
select k.id
from api_keys k
where k.workspace_id = any (:ids)

-- name: keysOfWorkspaces
-- The hash stays: a key of a deleted workspace is refused as revoked.
with gone as materialized (
  select k.id
  from api_keys k
  where k.erased_at is null
    and k.workspace_id = any (:ids)
  order by k.id
  limit :limit
),
forgotten as (
  update key_windows u
  set last_used_ip = null
  from gone
  where u.key_id = gone.id
)
update api_keys k
set name = '',
  erased_at = :now,
  last4 = '',
  scopes = '{}',
  number_ids = null
from gone
where k.id = gone.id
returning k.id

-- name: claims
delete from idempotency_claims gone
using (
  select found.key_id, found.key
  from idempotency_claims found
  where found.key_id = any (:ids)
  limit :limit
) found
where gone.key_id = found.key_id
  and gone.key = found.key
returning gone.key_id

-- name: records
delete from idempotency_records gone
using (
  select found.key_id, found.key
  from idempotency_records found
  where found.key_id = any (:ids)
  limit :limit
) found
where gone.key_id = found.key_id
  and gone.key = found.key
returning gone.key_id

-- name: checkResults
delete from number_check_results gone
using (
  select found.id
  from number_check_results found
  join number_checks c on c.id = found.check_id
  where c.workspace_id = any (:ids)
    and c.completed_at is not null
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: checks
delete from number_checks gone
using (
  select found.id
  from number_checks found
  where found.workspace_id = any (:ids)
    and found.completed_at is not null
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: contacts
delete from contacts gone
using (
  select found.id
  from contacts found
  where found.workspace_id = any (:ids)
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: reminders
-- Index reminders_by_workspace.
delete from reminders gone
using (
  select found.id
  from reminders found
  where found.workspace_id = any (:ids)
    and found.removed_at is null
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: removedReminders
-- Index reminders_removed.
delete from reminders gone
using (
  select found.id
  from reminders found
  where found.workspace_id = any (:ids)
    and found.removed_at is not null
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: campaignRows
-- Index campaigns_removed.
delete from campaign_rows gone
using (
  select r.campaign_id, r.row
  from campaigns c
  join campaign_rows r on r.campaign_id = c.id
  where c.workspace_id = any (:ids)
    and c.removed_at is not null
    and c.erased_at is null
  limit :limit
) found
where gone.campaign_id = found.campaign_id
  and gone.row = found.row
returning gone.row

-- name: campaigns
-- Their rows are gone by now. Ids, times and counts stay.
update campaigns c
set erased_at = c.removed_at,
  name = '',
  text = '',
  media = null,
  reference = null,
  original = null
from (
  select found.id
  from campaigns found
  where found.workspace_id = any (:ids)
    and found.removed_at is not null
    and found.erased_at is null
  limit :limit
) found
where c.id = found.id
returning c.id

-- name: mediaFiles
-- Index media_files_remembered.
delete from media_files gone
using (
  select found.id
  from media_files found
  where found.workspace_id = any (:ids)
    and is_file_ended(found)
    and not found.has_bytes
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: endpointsOfWorkspaces
-- Their attempts went before them.
delete from webhook_endpoints gone
using (
  select found.id
  from webhook_endpoints found
  where found.workspace_id = any (:ids)
  limit :limit
) found
where gone.id = found.id
returning gone.id

-- name: figures
delete from hourly_figures gone
using (
  select found.workspace_id, found.mode, found.hour
  from hourly_figures found
  where found.workspace_id = any (:ids)
  limit :limit
) found
where gone.workspace_id = found.workspace_id
  and gone.mode = found.mode
  and gone.hour = found.hour
returning gone.workspace_id

-- name: windows
delete from workspace_windows gone
using (
  select found.workspace_id
  from workspace_windows found
  where found.workspace_id = any (:ids)
  limit :limit
) found
where gone.workspace_id = found.workspace_id
returning gone.workspace_id

-- name: workspace
-- A workspace is done once nothing of it is left that a worker or a sweep still has to end.
update workspaces w
set name = '',
  callback_salt = null,
  plan_name = null,
  retention_days = null,
  erased_at = case when not (
    exists (select from messages m where m.workspace_id = w.id)
    or exists (select from outbox o where o.workspace_id = w.id)
    or exists (select from number_checks c where c.workspace_id = w.id)
    or exists (select from numbers n where n.workspace_id = w.id and n.erased_at is null)
    -- The last to go of what was received.
    or exists (select from received_counters c where c.workspace_id = w.id)
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and f.state = 'kept'
    )
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and f.state = 'attached'
    )
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and f.state = 'reserved'
    )
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and is_file_ended(f)
    )
  ) then :now::timestamptz end
where w.id = any (:ids)
  and w.deleted_at is not null
