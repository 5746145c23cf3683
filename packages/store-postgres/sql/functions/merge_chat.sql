-- A chat continues in another one: of one person, who was known under two addresses.
create function merge_chat(p_from bigint, p_into bigint) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  update received_messages r
  set chat_id = p_into
  where r.chat_id = p_from;

  update chats c
  set activity = greatest(c.activity, gone.activity),
    last_received_at = greatest(c.last_received_at, gone.last_received_at),
    last_sent_at = greatest(c.last_sent_at, gone.last_sent_at),
    read_up_to = greatest(c.read_up_to, gone.read_up_to),
    unread = (
      select count(*)
      from received_messages r
      where r.chat_id = p_into
        and r.id > coalesce(greatest(c.read_up_to, gone.read_up_to), 0)
        and not r.from_me
    ),
    -- The remote hears again of what it may not know of either.
    marked_up_to = nullif(least(coalesce(c.marked_up_to, 0), coalesce(gone.marked_up_to, 0)), 0),
    mark_due = least(c.mark_due, gone.mark_due),
    messages = c.messages + gone.messages
  from chats gone
  where c.id = p_into
    and gone.id = p_from;

  -- Index chats_merged.
  update chats c
  set merged_into = p_into
  where c.merged_into = p_from;
  update chats c
  set merged_into = p_into,
    unread = 0,
    mark_due = null,
    messages = 0
  where c.id = p_from;
end
$$;
