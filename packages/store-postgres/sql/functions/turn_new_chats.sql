-- Lets messages of these numbers to new recipients wait, or no more, once restrictions or settings have changed.
--
-- Locks: none of its own, for holders of the lanes.
create function turn_new_chats(p_numbers bigint[], p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform set_new_chats(array[l.number_id], waits.until, p_now)
  from lanes l
  left join lateral (
    select r.waits_until as until
    from number_restrictions r
    join conversation_settings s on s.workspace_id = r.workspace_id
    where r.number_id = l.number_id
      and waits_for_new_chats(r.waits_until, p_now)
      and s.hold_new_chats
  ) waits on true
  where l.number_id = any (p_numbers)
    and l.new_chats_until is distinct from waits.until;
end
$$;
