-- Marks a chat, or the one that it was merged into, as read up to a message of it, and never back; see the port.
-- Returns the guard that did not hold, or null and how far it is read.
--
-- Locks: the claim, then its number's row in received_counters.
create function mark_read(
  p_workspace_id bigint,
  p_mode text,
  p_numbers bigint[],
  p_id bigint,
  p_up_to bigint,
  p_now timestamptz,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns table (guard text, up_to bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_chat bigint;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return query select 'idempotency', null::bigint;
    return;
  end if;
  v_chat := lock_chat(p_workspace_id, p_mode, p_numbers, p_id);
  if v_chat is null then
    return query select 'chat', null::bigint;
    return;
  end if;
  perform
  from received_messages r
  cross join lateral shown_received(r) shown
  where r.id = p_up_to
    and r.chat_id = v_chat;
  if not found then
    return query select 'message', null::bigint;
    return;
  end if;

  -- Index received_messages_by_chat.
  update chats c
  set read_up_to = p_up_to,
    unread = (
      select count(*)
      from received_messages r
      where r.chat_id = v_chat
        and r.id > p_up_to
        and not r.from_me
    ),
    mark_due = case when c.mode = 'live' then p_now end
  where c.id = v_chat
    and coalesce(c.read_up_to, 0) < p_up_to;
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[p_id, c.read_up_to], p_now, null
  )
  from chats c
  where c.id = v_chat;
  return query
  select null::text, c.read_up_to
  from chats c
  where c.id = v_chat;
end
$$;
