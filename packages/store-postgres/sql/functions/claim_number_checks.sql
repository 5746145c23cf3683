-- Claims checks that are due, the longest due first, of each workspace its share of the worker at
-- most, each with its next phones. Live ones wait while their number is not connected; once it is
-- removed any worker may take them, to end them.
--
-- Locks: the checks, passing over those that others hold, so that workers never wait for one another.
--
-- Never null: id, workspace_id, mode, number_id, removed, lease, tries, phones
create function claim_number_checks(
  p_now timestamptz,
  p_lease_until timestamptz,
  p_limit integer,
  p_chunk integer,
  p_of bigint,
  p_shards bigint[],
  p_per_workspace integer,
  p_workspaces bigint[],
  p_held integer[]
) returns table (
  id bigint,
  workspace_id bigint,
  mode text,
  number_id bigint,
  removed boolean,
  lease bigint,
  tries integer,
  phones text[]
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_checks bigint[];
begin
  -- Index number_checks_due.
  v_checks := array(
    select due.id
    from (
      select
        c.id, c.next_due,
        held_of(c.workspace_id, p_workspaces, p_held)
          + row_number() over (partition by c.workspace_id order by c.next_due, c.id)
          <= p_per_workspace as fits
      from number_checks c
      join lanes l on l.number_id = c.number_id
      where c.next_due <= p_now
        and can_be_asked(c, l)
        and is_asked_by(c, l, p_of, p_shards)
    ) due
    where due.fits
    order by due.next_due, due.id
    limit p_limit
  );
  -- Those that another worker has taken meanwhile are due no more.
  v_checks := array(
    select c.id
    from number_checks c
    where c.id = any (v_checks)
      and c.next_due <= p_now
    order by c.next_due, c.id
    for no key update skip locked
  );

  return query
  with claimed as (
    update number_checks c
    set status = 'processing',
      lease = c.lease + 1,
      lease_until = p_lease_until,
      next_due = p_lease_until
    where c.id = any (v_checks)
    returning c.id, c.workspace_id, c.mode, c.number_id, c.lease, c.tries
  )
  select
    claimed.id, claimed.workspace_id, claimed.mode, claimed.number_id, l.removed_at is not null,
    claimed.lease, claimed.tries,
    -- Index number_check_results_by_check.
    array(
      select r.phone
      from number_check_results r
      where r.check_id = claimed.id
        and r.status = 'pending'
      group by r.phone
      order by min(r.id)
      limit p_chunk
    )
  from claimed
  join lanes l on l.number_id = claimed.number_id
  order by array_position(v_checks, claimed.id);
end
$$;
