-- Index reminders_due.
select
  r.id, r.workspace_id, r.mode, r.next_run_at, r.created_at, r.name, r.active, r.recipient,
  r.number_id, r.text, r.media, r.cron, r.timezone, r.revision,
  (
    select json_build_object(
      'dueAt', epoch_millis(l.due_at), 'outcome', l.outcome, 'messageId', l.message_id,
      'code', l.code
    )
    from reminder_runs l
    where l.reminder_id = r.id
    order by l.id desc
    limit 1
  ) as "lastRun",
  r.previous_number_id, w.id as w_id, w.name as w_name, w.demo as w_demo,
  w.account_disabled as w_account_disabled, w.api_v2_enabled as w_api_v2_enabled,
  w.plan_name as w_plan_name, w.plan_messages_remaining as w_plan_messages_remaining,
  w.plan_reminders as w_plan_reminders, w.plan_qr_code_api as w_plan_qr_code_api,
  w.plan_max_numbers as w_plan_max_numbers,
  w.plan_media_storage_bytes as w_plan_media_storage_bytes, w.retention_days as w_retention_days,
  w.created_at as w_created_at, w.deleted_at as w_deleted_at
from (
  select *
  from reminders d
  where d.next_run_at <= :now
  order by d.next_run_at, d.id
  limit :limit
) r
join workspaces w on w.id = r.workspace_id
order by r.next_run_at, r.id
