-- Id of a chat that the caller finds, or of the one that it was merged into; null for any other.
--
-- Locks: its number's row in received_counters.
create function lock_chat(p_workspace_id bigint, p_mode text, p_numbers bigint[], p_id bigint) returns bigint
language plpgsql
set search_path from current
as $$
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
    return null;
  end if;
  return (
    select coalesce(c.merged_into, c.id)
    from chats c
    where c.id = p_id
      and c.removed_at is null
  );
end
$$;
