-- Indexes number_checks_completed and number_check_results_by_check.
delete from number_check_results gone
using (
  select r.id
  from number_checks c
  join number_check_results r on r.check_id = c.id
  where c.completed_at < :before
  limit :limit
) old
where gone.id = old.id
returning gone.id
