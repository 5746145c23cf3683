with advanced as (
  update reminders r
  set next_run_at = :r_next_run_at,
    held_run_at = null,
    revision = r.revision + 1
  where r.id = :r_id
    and r.revision = :r_revision
    and r.removed_at is null
  returning r.id
),
logged as (
  insert into reminder_runs (reminder_id, due_at, ran_at, outcome, code)
  select advanced.id, :r_due_at, :r_ran_at, :outcome, :code
  from advanced
  where :outcome::text is not null
)
select advanced.id
from advanced
