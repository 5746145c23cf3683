-- Answers go to every pending result of their phone; with the last one the check is completed. False
-- when the lease is no longer the check's. Locks: the check, then its results, which change
-- only under the check's lock.
create function answer_number_check(
  p_id bigint,
  p_lease bigint,
  p_phones text[],
  p_statuses text[],
  p_now timestamptz
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_checked integer;
  v_registered integer;
  v_not_registered integer;
begin
  perform
  from number_checks c
  where c.id = p_id
    and holds_lease(c.lease, c.lease_until, p_lease)
  for no key update;
  if not found then
    return false;
  end if;

  with answered as (
    update number_check_results r
    set status = answer.status,
      checked_at = p_now
    from unnest(p_phones, p_statuses) answer (phone, status)
    where r.check_id = p_id
      and r.status = 'pending'
      and r.phone = answer.phone
    returning r.status
  )
  select count(*),
    count(*) filter (where answered.status = 'registered'),
    count(*) filter (where answered.status = 'not_registered')
  into v_checked, v_registered, v_not_registered
  from answered;

  update number_checks c
  set checked = c.checked + v_checked,
    registered = c.registered + v_registered,
    not_registered = c.not_registered + v_not_registered,
    status = check_status_after(c, v_checked),
    completed_at = check_completed_at(c, v_checked, p_now),
    next_due = case when c.checked + v_checked < c.total then p_now end,
    lease_until = null,
    tries = 0
  where c.id = p_id;
  return true;
end
$$;
