-- Notes in which chats these messages left, in that order, and moves those chats; see MessageStore.end. No
-- chat exists before a message came from there. For holders of their lanes.
--
-- Locks: their numbers' rows in received_counters by number, where the numbers have chats.
create function enter_chats(p_messages bigint[]) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_message record;
  v_chat bigint;
begin
  perform
  from received_counters c
  where c.number_id = any (
    array(
      select m.number_id
      from messages m
      join lanes l on l.number_id = m.number_id
        and l.has_chats
      where m.id = any (p_messages)
        and m.state = 'sent'
    )
  )
  order by c.number_id
  for no key update;

  for v_message in
    select m.id, m.number_id, m.mode, m.to_kind, m.to_phone, m.to_name, m.to_chat_id, m.sent_at
    from unnest(p_messages) with ordinality s (id, place)
    join messages m on m.id = s.id
    join lanes l on l.number_id = m.number_id
      and l.has_chats
    where m.state = 'sent'
    order by s.place
  loop
    v_chat := null;
    if v_message.to_chat_id is not null then
      select coalesce(c.merged_into, c.id)
      into v_chat
      from chats c
      where c.id = v_message.to_chat_id
        and c.removed_at is null;
    elsif v_message.to_kind = 'group' then
      -- Index chats_by_group.
      select c.id
      into v_chat
      from chats c
      where c.number_id = v_message.number_id
        and c.group_id is not null
        and c.removed_at is null
        and c.mode = v_message.mode
        and c.name = v_message.to_name
      order by c.activity desc
      limit 1;
    elsif v_message.to_phone is not null then
      -- Indexes people_by_phone and chats_by_person.
      select c.id
      into v_chat
      from people p
      join chats c on c.person_id = p.id
      where p.number_id = v_message.number_id
        and p.phone = v_message.to_phone
        and c.mode = v_message.mode
        and is_open_chat(c);
    elsif v_message.to_name ~ '^tg:' then
      -- Indexes people_by_user_id and chats_by_person.
      select c.id
      into v_chat
      from people p
      join chats c on c.person_id = p.id
      where p.number_id = v_message.number_id
        and p.user_id = substring(v_message.to_name from 4)
        and c.mode = v_message.mode
        and is_open_chat(c);
    else
      -- Indexes people_by_username and chats_by_person. A name may have passed to another person.
      select c.id
      into v_chat
      from people p
      join chats c on c.person_id = p.id
      where p.number_id = v_message.number_id
        and lower(p.username) = lower(substring(v_message.to_name from '([A-Za-z0-9_]+)/?$'))
        and c.mode = v_message.mode
        and is_open_chat(c)
      order by c.activity desc
      limit 1;
    end if;
    if v_chat is not null then
      update messages m
      set chat_id = v_chat
      where m.id = v_message.id;
      update chats c
      set last_sent_at = greatest(c.last_sent_at, v_message.sent_at),
        activity = default
      where c.id = v_chat;
    end if;
  end loop;
end
$$;
