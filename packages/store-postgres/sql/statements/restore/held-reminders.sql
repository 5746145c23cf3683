-- Index reminders_held.
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
  r.held_run_at
from reminders r
where r.held_run_at is not null
  and r.workspace_id = :workspaceId
  and (:from::bigint is null or r.number_id = :from)
  and (:since::timestamptz is null or r.created_at >= :since)
  and (:until::timestamptz is null or r.created_at < :until)
order by r.id
limit :limit
