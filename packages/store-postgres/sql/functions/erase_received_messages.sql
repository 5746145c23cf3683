-- Erases these messages with their files, reactions and events, and quotes of them; their sequences and marks stay.
-- How many there were.
-- For holders of their numbers' rows in received_counters.
create function erase_received_messages(p_ids bigint[], p_now timestamptz) returns integer
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_numbers bigint[];
  v_authors bigint[];
begin
  with gone as (
    delete from received_messages r
    where r.id = any (p_ids)
    returning r.id, r.number_id, r.chat_id, r.author_id, r.from_me
  ),
  of_chats as (
    update chats c
    set messages = c.messages - of_chat.messages,
      unread = greatest(0, c.unread - of_chat.unread)
    from (
      select
        gone.chat_id, count(*) as messages,
        count(*) filter (where not gone.from_me and gone.id > coalesce(chat.read_up_to, 0)) as unread
      from gone
      join chats chat on chat.id = gone.chat_id
      group by gone.chat_id
    ) of_chat
    where c.id = of_chat.chat_id
  ),
  of_numbers as (
    update received_counters c
    set stored = c.stored - of_number.messages
    from (
      select gone.number_id, count(*) as messages
      from gone
      group by gone.number_id
    ) of_number
    where c.number_id = of_number.number_id
  ),
  marked as (
    -- Index received_marks_by_message.
    update received_marks m
    set erased_at = p_now
    from gone
    where m.received_message_id = gone.id
  ),
  unreacted as (
    delete from reactions x
    using gone
    where x.received_message_id = gone.id
    returning x.person_id
  )
  select
    (select array_agg(gone.id) from gone),
    array(select distinct gone.number_id from gone),
    array(select gone.author_id from gone union select unreacted.person_id from unreacted)
  into v_ids, v_numbers, v_authors;
  if v_ids is null then
    return 0;
  end if;
  -- Index simulated_sent_by_number; numbers without a simulated phone have no rows there.
  update simulated_sent s
  set quote = null
  from messages m
  where s.number_id = any (v_numbers)
    and s.quote is not null
    and m.transport_id = s.transport_id
    and m.number_id = s.number_id
    and m.reply_received_id = any (v_ids);
  perform erase_received_files(v_ids);
  perform forget_people(v_authors);
  perform end_received_events(v_ids, '{}');
  with quoting as (
    -- Index received_messages_by_quoted.
    update received_messages r
    set quoted_received_id = null, quote_text = ''
    where r.quoted_received_id = any (v_ids)
    returning r.id
  )
  -- Index outbox_by_received_message.
  update outbox o
  set body = without_quote(o.body)
  from quoting
  where o.received_message_id = quoting.id;
  return cardinality(v_ids);
end
$$;
