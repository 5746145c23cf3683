-- An id before which every message of the workspace was created before p_moment, almost. There is no
-- index by time of creation, because ids grow almost with it: a search by halves finds where a moment
-- lies, in some twenty look-ups. Index messages_by_workspace.
create function message_id_at(p_workspace bigint, p_mode text, p_moment timestamptz)
returns bigint
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_low bigint;
  v_high bigint;
  v_middle bigint;
  v_found record;
begin
  -- No message is that old, or that young.
  if p_moment = '-infinity' then
    return 0;
  elsif p_moment = 'infinity' then
    return 9223372036854775807;
  end if;
  select min(m.id), max(m.id) + 1
  into v_low, v_high
  from messages m
  where m.workspace_id = p_workspace
    and m.mode = p_mode;
  -- All before v_low are older than the moment, all from v_high on are not.
  while v_low < v_high loop
    v_middle := v_low + (v_high - v_low) / 2;
    select m.id, m.created_at
    into v_found
    from messages m
    where m.workspace_id = p_workspace
      and m.mode = p_mode
      and m.id >= v_middle
    order by m.id
    limit 1;
    if v_found.created_at < p_moment then
      v_low := v_found.id + 1;
    else
      v_high := v_middle;
    end if;
  end loop;
  return coalesce(v_low, 0);
end
$$;
