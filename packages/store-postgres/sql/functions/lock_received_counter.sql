-- Locks what a number receives, up to the commit. The sequence of its latest message.
--
-- Never null: answer
create function lock_received_counter(p_number bigint, p_workspace bigint) returns bigint
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_sequence bigint;
begin
  select c.sequence
  into v_sequence
  from received_counters c
  where c.number_id = p_number
  for no key update;
  if not found then
    insert into received_counters as c (number_id, workspace_id, sequence, stored)
    values (p_number, p_workspace, 0, 0)
    on conflict (number_id) do update
    set stored = c.stored
    returning c.sequence
    into v_sequence;
  end if;
  return v_sequence;
end
$$;
