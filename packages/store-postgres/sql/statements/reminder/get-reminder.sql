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
  ) as "lastRun"
from reminders r
where r.id = :id
  and r.workspace_id = :workspaceId
  and (:mode::text is null or r.mode = :mode)
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
