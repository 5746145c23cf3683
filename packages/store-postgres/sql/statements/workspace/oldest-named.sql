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
