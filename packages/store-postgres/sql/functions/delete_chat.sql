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
  v_chat := lock_chat(p_workspace_id, p_mode, p_numbers, p_id);
  update chats c
  set removed_at = p_now
  where c.id = v_chat
    or c.merged_into = v_chat;
  return found;
end
$$;
