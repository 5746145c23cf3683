-- Removes a chat, or the one that it was merged into, for erase_received; false when the caller finds none.
--
-- Locks: its number's row in received_counters.
--
-- Never null: answer
create function delete_chat(
  p_workspace_id bigint, p_mode text, p_numbers bigint[], p_id bigint, p_now timestamptz
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_chat bigint;
begin
  perform
  from received_counters n
  where n.number_id = (
    select shown.number_id
    from chats c
    cross join lateral shown_chat(c) shown
    where c.id = p_id
      and c.workspace_id = p_workspace_id
      and c.mode = p_mode
      and (p_numbers is null or c.number_id = any (p_numbers))
  )
  for no key update;
  if not found then
    return false;
  end if;
  select coalesce(c.merged_into, c.id)
  into v_chat
  from chats c
  where c.id = p_id
    and c.removed_at is null;
  update chats c
  set removed_at = p_now
  where c.id = v_chat
    or c.merged_into = v_chat;
  return found;
end
$$;
