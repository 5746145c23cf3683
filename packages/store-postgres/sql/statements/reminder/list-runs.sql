-- Index reminder_runs_by_reminder.
select l.id, l.ran_at, l.due_at, l.outcome, l.message_id, l.code
from reminder_runs l
where l.reminder_id = :id
  and l.id < :before
order by l.id desc
limit :limit
