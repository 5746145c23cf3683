-- Stores what was written to a number, in that order, where its workspace has conversations and keeps it, and the
-- waits for copies of what could not be read; see the port. One row for each, with what its event is made of as it is
-- at this moment; announce_received writes the events in the same transaction.
--
-- Locks: the lane where new chats are closed, so that no claim sets aside what this makes known; the number's row in
-- received_counters, up to the commit, and for its first chat its lane: no settlement that holds the lane looks for
-- chats before.
--
-- Never null: became
create function receive_messages(
  p_number bigint,
  p_now timestamptz,
  p_remote_ids text[],
  p_addresses text[],
  p_modes text[],
  p_from_me boolean[],
  p_group_ids text[],
  p_group_names text[],
  p_has_person boolean[],
  p_phones text[],
  p_lids text[],
  p_user_ids text[],
  p_usernames text[],
  p_names text[],
  p_kinds text[],
  p_texts text[],
  p_contents text[],
  p_files text[],
  p_file_sources text[],
  p_quoted_ids text[],
  p_quote_texts text[],
  p_sent_at timestamptz[],
  -- Null for what could be read.
  p_is_unreadable boolean[],
  p_waits_until timestamptz
) returns table (
  id bigint,
  became text,
  workspace_id bigint,
  sequence bigint,
  number_phone text,
  platform text,
  chat_id bigint,
  chat_type text,
  chat_name text,
  phone text,
  lid text,
  user_id text,
  username text,
  name text,
  quoted_received_id bigint,
  quoted_message_id bigint,
  file_state text,
  -- Of one that takes the place of another.
  sent_at timestamptz,
  received_at timestamptz,
  reactions json
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  -- Clocks differ: what comes is never older than the conversations, or it would be erased as of earlier ones.
  v_now timestamptz;
  v_groups boolean;
  v_media text;
  v_max_file_bytes bigint;
  v_file json;
  v_sequence bigint;
  v_stored bigint = 0;
  v_person people;
  v_nobody people;
  v_chat chats;
  v_marks text[];
  v_erased_at timestamptz;
  v_recovered record;
  -- Whether messages wait for new chats; then who wrote.
  v_closed boolean;
  v_phones text[] := '{}';
begin
  select
    n.workspace_id, n.phone, n.platform, s.groups, s.media, s.max_file_bytes, s.hold_new_chats,
    greatest(p_now, s.since)
  into workspace_id, number_phone, platform, v_groups, v_media, v_max_file_bytes, v_closed, v_now
  from numbers n
  join conversation_settings s on s.workspace_id = n.workspace_id
  where n.id = p_number
    and n.removed_at is null;

  if v_closed then
    perform
    from lanes l
    where l.number_id = p_number
      and l.new_chats_until is not null
    for no key update;
    v_closed := found;
  end if;

  for i in 1 .. cardinality(p_remote_ids) loop
    id := null;
    became := 'dropped';
    if v_groups is null or not is_kept(p_group_ids[i], v_groups) then
      return next;
      continue;
    end if;
    if v_sequence is null then
      v_sequence := lock_received_counter(p_number, workspace_id);
    end if;

    if p_is_unreadable[i] then
      select found.id
      into id
      from find_received(
        p_number, p_modes[i], p_from_me[i], p_group_ids[i], p_remote_ids[i], p_phones[i], p_lids[i], p_user_ids[i]
      ) found;
      became := 'repeat';
      if id is null and not exists (
        select
        from copy_waits_for(
          p_number, p_modes[i], p_from_me[i], p_group_ids[i], p_remote_ids[i], p_has_person[i], p_phones[i],
          p_lids[i], p_user_ids[i]
        )
      ) then
        became := 'waiting';
        insert into copy_waits (
          number_id, told_at, waits_until, sent_at, mode, from_me, remote_id, group_id, group_name, has_person, phone,
          lid, user_id, username, name
        )
        values (
          p_number, v_now, p_waits_until + (v_now - p_now), p_sent_at[i], p_modes[i], p_from_me[i], p_remote_ids[i],
          p_group_ids[i], p_group_names[i], p_has_person[i], p_phones[i], p_lids[i], p_user_ids[i], p_usernames[i], p_names[i]
        );
      end if;
      return next;
      continue;
    end if;
    delete from copy_waits w
    using copy_waits_for(
      p_number, p_modes[i], p_from_me[i], p_group_ids[i], p_remote_ids[i], p_has_person[i], p_phones[i], p_lids[i],
      p_user_ids[i]
    ) one
    where w.id = one.id;

    v_person := v_nobody;
    if p_has_person[i] then
      v_person := find_person(
        p_number, p_phones[i], p_lids[i], p_user_ids[i], p_usernames[i], p_names[i]
      );
    end if;
    v_marks := marks_of_received(
      p_modes[i], p_from_me[i], p_group_ids[i], p_remote_ids[i], v_person.phone, v_person.lid, v_person.user_id
    );
    select m.received_message_id, m.erased_at
    into id, v_erased_at
    from received_marks m
    where m.number_id = p_number
      and m.mark = any (v_marks)
    order by array_position(v_marks, m.mark)
    limit 1;
    became := case when id is null then 'stored' else 'repeat' end;
    if id is null then
      id := nextval('received_messages_id_seq');
      v_erased_at := null;
    end if;
    insert into received_marks (number_id, mark, received_message_id, erased_at)
    select p_number, one.mark, id, v_erased_at
    from unnest(v_marks) one (mark)
    on conflict (number_id, mark) do nothing;
    file_state := null;
    v_file := null;
    if p_files[i] is not null then
      file_state := new_file_state(
        v_media, v_max_file_bytes, (p_files[i]::json ->> 'size')::bigint, p_file_sources[i] is not null
      );
      v_file := (p_files[i]::jsonb || jsonb_build_object('state', file_state))::json;
    end if;
    sent_at := null;
    received_at := null;
    reactions := null;
    if became = 'repeat' then
      select recovered.*
      into v_recovered
      from recover_received(
        p_number, id, p_addresses[i], p_kinds[i], p_texts[i], p_contents[i], v_file::text, p_quoted_ids[i],
        p_quote_texts[i]
      ) recovered
      where p_kinds[i] <> 'unreadable';
      if found then
        became := 'recovered';
        if file_state = 'remote' then
          perform add_received_file(id, v_media, p_file_sources[i], p_now);
        end if;
        sequence := v_recovered.sequence;
        chat_id := v_recovered.chat_id;
        chat_type := v_recovered.chat_type;
        chat_name := v_recovered.chat_name;
        phone := v_recovered.phone;
        lid := v_recovered.lid;
        user_id := v_recovered.user_id;
        username := v_recovered.username;
        name := v_recovered.name;
        quoted_received_id := v_recovered.quoted_received_id;
        quoted_message_id := v_recovered.quoted_message_id;
        sent_at := v_recovered.sent_at;
        received_at := v_recovered.received_at;
        reactions := v_recovered.reactions;
      end if;
      return next;
      continue;
    end if;

    if not v_person.in_use and (p_group_ids[i] is null or not p_from_me[i]) then
      update people p
      set in_use = true
      where p.id = v_person.id;
    end if;
    v_chat := null;
    if p_group_ids[i] is null then
      -- Index chats_by_person.
      update chats c
      set activity = default,
        last_received_at = v_now,
        unread = c.unread + case when p_from_me[i] then 0 else 1 end,
        messages = c.messages + 1
      where c.person_id = v_person.id
        and c.mode = p_modes[i]
        and is_open_chat(c)
      returning c.*
      into v_chat;
    else
      -- Index chats_by_group.
      update chats c
      set activity = default,
        name = coalesce(p_group_names[i], c.name),
        last_received_at = v_now,
        unread = c.unread + case when p_from_me[i] then 0 else 1 end,
        messages = c.messages + 1
      where c.number_id = p_number
        and c.group_id = p_group_ids[i]
        and c.mode = p_modes[i]
        and c.removed_at is null
      returning c.*
      into v_chat;
    end if;
    if v_chat.id is null then
      insert into chats (
        workspace_id, number_id, mode, type, person_id, group_id, name, last_received_at, unread, messages
      )
      values (
        workspace_id, p_number, p_modes[i], case when p_group_ids[i] is null then 'person' else 'group' end,
        case when p_group_ids[i] is null then v_person.id end, p_group_ids[i], p_group_names[i], v_now,
        case when p_from_me[i] then 0 else 1 end, 1
      )
      returning *
      into v_chat;
      update lanes l
      set has_chats = true
      where l.number_id = p_number
        and not l.has_chats;
    end if;

    quoted_received_id := null;
    quoted_message_id := null;
    if p_quoted_ids[i] is not null then
      select quoted.received_id, quoted.message_id
      into quoted_received_id, quoted_message_id
      from find_quoted(p_number, v_chat.id, p_quoted_ids[i]) quoted;
    end if;

    v_sequence := v_sequence + 1;
    v_stored := v_stored + 1;
    insert into received_messages (
      id, workspace_id, number_id, chat_id, sequence, author_id, sent_at, received_at, quoted_received_id,
      quoted_message_id, mode, from_me, kind, remote_id, address, text, content, file, quote_text
    )
    values (
      id, workspace_id, p_number, v_chat.id, v_sequence,
      case when p_group_ids[i] is not null and not p_from_me[i] then v_person.id end, p_sent_at[i], v_now,
      quoted_received_id, quoted_message_id, p_modes[i], p_from_me[i], p_kinds[i], p_remote_ids[i],
      p_addresses[i], p_texts[i], p_contents[i]::json, v_file, p_quote_texts[i]
    );
    if file_state = 'remote' then
      perform add_received_file(id, v_media, p_file_sources[i], p_now);
    end if;
    received_at := v_now;
    sequence := v_sequence;
    chat_id := v_chat.id;
    chat_type := v_chat.type;
    chat_name := case when p_group_ids[i] is null then v_person.name else v_chat.name end;
    phone := v_person.phone;
    lid := v_person.lid;
    user_id := v_person.user_id;
    username := v_person.username;
    name := v_person.name;
    if v_closed and p_modes[i] = 'live' then
      v_phones := v_phones || v_person.phone;
    end if;
    return next;
  end loop;

  if v_closed then
    perform release_new_chats(
      array[p_number],
      array(
        select distinct one.phone
        from unnest(v_phones) one (phone)
        where has_chat_with(p_number, one.phone)
      ),
      p_now
    );
  end if;
  if v_stored > 0 then
    update received_counters c
    set sequence = v_sequence,
      stored = c.stored + v_stored
    where c.number_id = p_number;
  end if;
end
$$;
