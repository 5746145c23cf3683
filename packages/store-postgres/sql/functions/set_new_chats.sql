-- Until when messages of these numbers to new recipients wait; null: what waits is released. What is claimed of a turn
-- and not in flight is claimed once more when the wait begins.
--
-- Locks: none of its own, for holders of the lanes.
create function set_new_chats(p_numbers bigint[], p_until timestamptz, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  update lanes l
  set new_chats_until = p_until,
    turn_due = case when p_until is null or l.new_chats_until is not null then l.turn_due end
  where l.number_id = any (p_numbers)
    and l.new_chats_until is distinct from p_until;
  if p_until is null then
    perform release_new_chats(p_numbers, null, p_now);
  end if;
end
$$;
