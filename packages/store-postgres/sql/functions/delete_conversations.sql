-- Turns conversations off; false where they were not on. What waits for new chats is released.
--
-- Locks: the lanes by number.
create function delete_conversations(p_workspace_id bigint, p_now timestamptz) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_numbers bigint[];
begin
  v_numbers := array(
    select l.number_id
    from lanes l
    where l.workspace_id = p_workspace_id
    order by l.number_id
    for no key update
  );
  delete from conversation_settings c
  using workspaces w
  where c.workspace_id = p_workspace_id
    and w.id = c.workspace_id
    and w.deleted_at is null;
  if not found then
    return false;
  end if;
  perform turn_new_chats(v_numbers, p_now);
  return true;
end
$$;
