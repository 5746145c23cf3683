-- The earliest planned time from p_at on at which there is room for p_count messages; null when
-- there is none, because p_count is over the limit. The core's countExactly says why: so many in a
-- row within a window bar what lies between barred_from and barred_until.
create function quota_room_at(
  p_number bigint,
  p_at timestamptz,
  p_count integer,
  p_limit integer,
  p_window interval
) returns timestamptz
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_in_row constant integer := p_limit - p_count;
  v_room_at timestamptz := p_at;
  v_barred record;
begin
  if v_in_row < 0 then
    return null;
  end if;
  -- In the order of the indexes, and no further than it must.
  for v_barred in
    select
      in_row.last_at - p_window as barred_from,
      in_row.due_at + p_window as barred_until
    from (
      select planned.at as due_at, lead(planned.at, v_in_row) over (order by planned.at) as last_at
      from (
        select counted.due_at
        from counted_after(p_number, p_at - p_window) counted
        union all
        select held.planned_at
        from held_in_quota(p_number) held
        where held.planned_at > p_at - p_window
      ) planned (at)
    ) in_row
    where in_row.last_at < in_row.due_at + p_window
    order by in_row.due_at
  loop
    exit when v_barred.barred_from >= v_room_at;
    v_room_at := greatest(v_room_at, v_barred.barred_until);
  end loop;
  return v_room_at;
end
$$;
