-- name: again
update number_checks c
set lease_until = null,
  next_due = :due,
  tries = c.tries + :tries
where c.id = :id
  and holds_lease(c.lease, c.lease_until, :lease)
returning true as done

-- name: get
select
  c.id, c.workspace_id, c.mode, c.number_id, c.name, c.status, c.total, c.checked, c.registered,
  c.not_registered, c.created_at, c.completed_at
from number_checks c
where c.workspace_id = :workspaceId
  and c.mode = :mode
  and (:restriction::bigint[] is null or c.number_id = any (:restriction))
  and c.id = :id

-- name: list
-- Index number_checks_by_workspace.
select
  c.id, c.workspace_id, c.mode, c.number_id, c.name, c.status, c.total, c.checked, c.registered,
  c.not_registered, c.created_at, c.completed_at
from number_checks c
where c.workspace_id = :workspaceId
  and c.mode = :mode
  and (:restriction::bigint[] is null or c.number_id = any (:restriction))
  and c.id < :before
order by c.id desc
limit :limit

-- name: results
-- Index number_check_results_by_check.
select r.id, r.phone, r.status, r.checked_at
from number_check_results r
where r.check_id = :id
  and (:statuses::text[] is null or r.status = any (:statuses))
  and r.id < :before
order by r.id desc
limit :limit

-- name: forgetResults
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

-- name: forget
-- Index number_checks_completed. Their results are gone by now.
delete from number_checks c
where c.id in (
  select o.id
  from number_checks o
  where o.completed_at < :before
  limit :limit
)
returning c.id
