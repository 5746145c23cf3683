-- What a change is about: a received message of the chat, by its author unless verified, or what a reaction is to,
-- with the latest one of its author. No row where that is not stored. A change with an id of its own leaves the marks
-- of an erased message, by which needs_no_copy knows its repeats.
--
-- Locks: the number's row in received_counters.
--
-- Never null: workspace_id
create function find_changed(
  p_number bigint,
  p_is_reaction boolean,
  p_remote_id text,
  p_target_from_me boolean,
  p_is_verified boolean,
  p_mode text,
  p_from_me boolean,
  p_group_id text,
  p_has_person boolean,
  p_phone text,
  p_lid text,
  p_user_id text,
  p_username text,
  p_name text,
  p_change_id text,
  p_now timestamptz
) returns table (
  workspace_id bigint, number_phone text, received_id bigint, message_id bigint, person_id bigint, phone text,
  lid text, user_id text, username text, name text, reaction_id bigint, emoji text, reacted_at timestamptz
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_known bigint[];
  v_marked bigint;
begin
  select n.workspace_id, n.phone
  into workspace_id, number_phone
  from numbers n
  join conversation_settings s on s.workspace_id = n.workspace_id
  where n.id = p_number
    and n.removed_at is null
    and is_kept(p_group_id, s.groups);
  if not found then
    return;
  end if;
  perform lock_received_counter(p_number, workspace_id);
  if p_change_id is not null then
    -- It may be the copy that its own message waits for.
    delete from copy_waits w
    using copy_waits_for(
      p_number, p_mode, p_from_me, p_group_id, p_change_id, p_has_person, p_phone, p_lid, p_user_id
    ) one
    where w.id = one.id;
    v_marked := nextval('received_messages_id_seq');
    insert into received_marks (number_id, mark, received_message_id, erased_at)
    select p_number, one.mark, v_marked, p_now
    from unnest(
      marks_of_received(p_mode, p_from_me, p_group_id, p_change_id, p_phone, p_lid, p_user_id)
    ) one (mark)
    on conflict (number_id, mark) do nothing;
  end if;

  v_known := array(select known.id from people_at(p_number, p_phone, p_lid, p_user_id) known);
  -- Index received_messages_by_remote_id.
  select min(r.id)
  into received_id
  from received_messages r
  join chats c on c.id = r.chat_id
  cross join lateral shown_received(r) shown
  where r.number_id = p_number
    and r.remote_id = p_remote_id
    and r.mode = p_mode
    and r.from_me = coalesce(p_target_from_me, r.from_me)
    and case
      when p_group_id is not null then c.group_id = p_group_id
      when p_has_person then c.person_id = any (v_known)
      else p_is_verified
    end
    and (
      p_is_reaction
      or p_is_verified
      or r.from_me = p_from_me and (p_from_me or p_group_id is null or r.author_id = any (v_known))
    );
  if not p_is_reaction then
    if received_id is not null then
      return next;
    end if;
    return;
  end if;

  if received_id is null and p_target_from_me is distinct from false then
    -- Index messages_by_transport_id.
    select m.id
    into message_id
    from messages m
    where m.transport_id = p_remote_id
      and m.number_id = p_number
      and m.mode = p_mode;
  end if;
  if coalesce(received_id, message_id) is null or not (p_from_me or p_has_person) then
    return;
  end if;
  if p_has_person then
    select found.id, found.phone, found.lid, found.user_id, found.username, found.name
    into person_id, phone, lid, user_id, username, name
    from find_person(p_number, p_phone, p_lid, p_user_id, p_username, p_name) found;
    update people p
    set in_use = true
    where p.id = find_changed.person_id
      and not p.in_use;
  end if;
  -- Indexes reactions_by_received_message and reactions_by_message.
  select x.id, x.emoji, x.reacted_at
  into reaction_id, emoji, reacted_at
  from reactions x
  where (x.received_message_id = find_changed.received_id or x.message_id = find_changed.message_id)
    and x.from_me = p_from_me
    and (p_from_me or x.person_id = find_changed.person_id);
  return next;
end
$$;
