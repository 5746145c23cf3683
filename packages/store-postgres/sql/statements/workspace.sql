-- name: insert
insert into workspaces as w (
  name, demo, account_disabled, api_v2_enabled, plan_name, plan_messages_remaining, plan_reminders,
  plan_qr_code_api, plan_max_numbers, plan_media_storage_bytes, retention_days, created_at, admits,
  admits_v1
)
values (
  :name, :demo, :accountDisabled, :apiV2Enabled, :planName, :planMessagesRemaining, :planReminders,
  :planQrCodeApi, :planMaxNumbers, :planMediaStorageBytes, :retentionDays, :createdAt, :admits,
  :admitsV1
)
returning
  w.id as w_id, w.name as w_name, w.demo as w_demo, w.account_disabled as w_account_disabled,
  w.api_v2_enabled as w_api_v2_enabled, w.plan_name as w_plan_name,
  w.plan_messages_remaining as w_plan_messages_remaining, w.plan_reminders as w_plan_reminders,
  w.plan_qr_code_api as w_plan_qr_code_api, w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at

-- name: lockName
-- Of two transactions with the same name the second continues when the first is over.
select pg_advisory_xact_lock(hashtextextended(:name, 7205759403792793))

-- name: oldestNamed
-- Index workspaces_by_name.
select
  w.id as w_id, w.name as w_name, w.demo as w_demo, w.account_disabled as w_account_disabled,
  w.api_v2_enabled as w_api_v2_enabled, w.plan_name as w_plan_name,
  w.plan_messages_remaining as w_plan_messages_remaining, w.plan_reminders as w_plan_reminders,
  w.plan_qr_code_api as w_plan_qr_code_api, w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at
from workspaces w
where w.name = :name
  and w.deleted_at is null
order by w.id
limit 1

-- name: get
select
  w.id as w_id, w.name as w_name, w.demo as w_demo, w.account_disabled as w_account_disabled,
  w.api_v2_enabled as w_api_v2_enabled, w.plan_name as w_plan_name,
  w.plan_messages_remaining as w_plan_messages_remaining, w.plan_reminders as w_plan_reminders,
  w.plan_qr_code_api as w_plan_qr_code_api, w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at
from workspaces w
where w.id = :id
  and w.deleted_at is null

-- name: lock
select
  w.id as w_id, w.name as w_name, w.demo as w_demo, w.account_disabled as w_account_disabled,
  w.api_v2_enabled as w_api_v2_enabled, w.plan_name as w_plan_name,
  w.plan_messages_remaining as w_plan_messages_remaining, w.plan_reminders as w_plan_reminders,
  w.plan_qr_code_api as w_plan_qr_code_api, w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at
from workspaces w
where w.id = :id
  and w.deleted_at is null
for no key update

-- name: list
select
  w.id as w_id, w.name as w_name, w.demo as w_demo, w.account_disabled as w_account_disabled,
  w.api_v2_enabled as w_api_v2_enabled, w.plan_name as w_plan_name,
  w.plan_messages_remaining as w_plan_messages_remaining, w.plan_reminders as w_plan_reminders,
  w.plan_qr_code_api as w_plan_qr_code_api, w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at
from workspaces w
where w.deleted_at is null
  and w.id < :before
order by w.id desc
limit :limit

-- name: update
update workspaces w
set name = :name,
  demo = :demo,
  account_disabled = :accountDisabled,
  api_v2_enabled = :apiV2Enabled,
  plan_name = :planName,
  plan_messages_remaining = :planMessagesRemaining,
  plan_reminders = :planReminders,
  plan_qr_code_api = :planQrCodeApi,
  plan_max_numbers = :planMaxNumbers,
  plan_media_storage_bytes = :planMediaStorageBytes,
  retention_days = :retentionDays,
  admits = :admits,
  admits_v1 = :admitsV1
where w.id = :id

-- name: lookAtCampaigns
select look_at_campaigns(:id, :now)

-- name: lockLanes
-- Index numbers_by_workspace. Lanes before workspaces, as everywhere.
select
from lanes l
where l.number_id in (
  select n.id
  from numbers n
  where n.workspace_id = :id
    and n.removed_at is null
)
order by l.number_id
for no key update

-- name: disable
-- Stops the lanes of a workspace, or lets them continue. For holders of their locks.
update lanes l
set disabled = :disabled,
  limited_until = null,
  next_due = next_due_changed(
    l,
    holds_until(
      l, stopped_until(:disabled, l.paused_until), may_have_left(l), is_open(l)
    ),
    (select first.due_at from first_to_leave(l, :now) first)
  )
where l.number_id in (
  select n.id
  from numbers n
  where n.workspace_id = :id
    and n.removed_at is null
)
  and l.removed_at is null
