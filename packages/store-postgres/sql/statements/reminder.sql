-- A message that was erased is named no more.

-- name: get
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
  ) as "lastRun"
from reminders r
where r.id = :id
  and r.workspace_id = :workspaceId
  and (:mode::text is null or r.mode = :mode)
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null

-- name: toRun
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
  r.previous_number_id
from reminders r
where r.id = :id
  and r.workspace_id = :workspaceId
  and (:mode::text is null or r.mode = :mode)
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null

-- name: made
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
  r.original
from reminders r
where r.id = :id

-- name: listOfAllModes
-- Index reminders_by_workspace.
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
  ) as "lastRun"
from reminders r
where r.workspace_id = :workspaceId
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
  and r.id < :before
order by r.id desc
limit :limit

-- name: listOfAllModesByActivity
-- Index reminders_by_activity.
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
  ) as "lastRun"
from reminders r
where r.workspace_id = :workspaceId
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
  and r.active = :active
  and r.id < :before
order by r.id desc
limit :limit

-- name: list
-- Index reminders_by_workspace.
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
  ) as "lastRun"
from reminders r
where r.workspace_id = :workspaceId
  and r.mode = :mode
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
  and r.id < :before
order by r.id desc
limit :limit

-- name: listByActivity
-- Index reminders_by_activity.
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
  ) as "lastRun"
from reminders r
where r.workspace_id = :workspaceId
  and r.mode = :mode
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
  and r.active = :active
  and r.id < :before
order by r.id desc
limit :limit

-- name: update
update reminders r
set name = :name,
  active = :active,
  recipient = :recipient,
  number_id = :numberId,
  text = :text,
  media = :media,
  cron = :cron,
  timezone = :timezone,
  next_run_at = :nextRunAt,
  -- Held until it is another schedule's, or none's.
  held_run_at = case when :active and :nextRunAt::timestamptz is null then r.held_run_at end,
  revision = r.revision + 1,
  original = coalesce(
    r.original,
    jsonb_build_object(
      'name', r.name, 'active', r.active, 'to', r.recipient, 'from', r.number_id, 'text', r.text,
      'media', r.media, 'cron', r.cron, 'timezone', r.timezone
    )
  )
where r.id = :id
  and r.revision = :revision
  and r.removed_at is null
returning r.id

-- name: remove
update reminders r
set removed_at = :now,
  next_run_at = null,
  held_run_at = null
where r.id = :id
  and r.workspace_id = :workspaceId
  and (:mode::text is null or r.mode = :mode)
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
returning r.id

-- name: due
-- Index reminders_due.
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

-- name: runs
-- Index reminder_runs_by_reminder.
select
  l.id, l.ran_at, l.due_at, l.outcome,
  (select m.id from messages m where m.id = l.message_id) as message_id, l.code
from reminder_runs l
where l.reminder_id = :id
  and l.id < :before
order by l.id desc
limit :limit

-- name: forgetRuns
-- Index reminder_runs_by_age.
delete from reminder_runs l
where l.id in (
  select o.id
  from reminder_runs o
  where o.ran_at < :before
    and (
      exists (
        select
        from reminder_runs n
        where n.reminder_id = o.reminder_id
          and n.id > o.id
      )
      or not exists (
        select
        from reminders r
        where r.id = o.reminder_id
          and r.removed_at is null
      )
    )
  order by o.ran_at
  limit :limit
)
returning l.id

-- name: forget
-- Index reminders_removed.
delete from reminders r
where r.id in (
  select o.id
  from reminders o
  where o.removed_at < :before
  limit :limit
)
returning r.id
