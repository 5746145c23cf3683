-- Erases a received message; false when the caller finds none.
--
-- Locks: its number's row in received_counters.
--
-- Never null: answer
create function delete_received(
  p_workspace_id bigint, p_mode text, p_numbers bigint[], p_id bigint, p_now timestamptz
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from received_counters c
  where c.number_id = (
    select shown.number_id
    from received_messages r
    cross join lateral shown_received(r) shown
    where r.id = p_id
      and r.workspace_id = p_workspace_id
      and r.mode = p_mode
      and (p_numbers is null or r.number_id = any (p_numbers))
  )
  for no key update;
  return found and erase_received_messages(array[p_id], p_now) > 0;
end
$$;
