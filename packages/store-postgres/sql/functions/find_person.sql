-- The person of a number whom these addresses mean, with what is now known of that person; a new one if none
-- is known under any. Of several that turn out to be one the first stays, and so does the first of their chats in
-- each mode. For holders of the number's row in received_counters.
create function find_person(
  p_number bigint, p_phone text, p_lid text, p_user_id text, p_username text, p_name text
) returns people
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_found people;
  v_other people;
  v_before people;
  v_mode text;
  v_chat bigint;
begin
  for v_other in
    select p.*
    from people_at(p_number, p_phone, p_lid, p_user_id) found
    join people p on p.id = found.id
    order by p.id
  loop
    if v_found.id is null then
      v_found := v_other;
      v_before := v_other;
      continue;
    end if;
    delete from people p
    where p.id = v_other.id;
    v_found.phone := coalesce(v_found.phone, v_other.phone);
    v_found.lid := coalesce(v_found.lid, v_other.lid);
    v_found.user_id := coalesce(v_found.user_id, v_other.user_id);
    v_found.username := coalesce(v_found.username, v_other.username);
    v_found.name := coalesce(v_found.name, v_other.name);
    v_found.in_use := v_found.in_use or v_other.in_use;
    update received_messages r
    set author_id = v_found.id
    where r.author_id = v_other.id;
    perform merge_reactions(v_other.id, v_found.id);
    update chats c
    set person_id = v_found.id
    where c.person_id = v_other.id;
    foreach v_mode in array array['live', 'test'] loop
      v_chat := null;
      select min(c.id)
      into v_chat
      from chats c
      where c.person_id = v_found.id
        and c.mode = v_mode
        and is_open_chat(c);
      perform merge_chat(c.id, v_chat)
      from chats c
      where c.person_id = v_found.id
        and c.mode = v_mode
        and c.id <> v_chat
        and is_open_chat(c);
    end loop;
  end loop;

  if v_found.id is null then
    insert into people (number_id, phone, lid, user_id, username, name, in_use)
    values (p_number, p_phone, p_lid, p_user_id, p_username, p_name, false)
    returning *
    into v_found;
    return v_found;
  end if;
  v_found.phone := coalesce(p_phone, v_found.phone);
  v_found.lid := coalesce(p_lid, v_found.lid);
  v_found.user_id := coalesce(p_user_id, v_found.user_id);
  v_found.username := coalesce(p_username, v_found.username);
  v_found.name := coalesce(p_name, v_found.name);
  if v_found is distinct from v_before then
    update people p
    set phone = v_found.phone,
      lid = v_found.lid,
      user_id = v_found.user_id,
      username = v_found.username,
      name = v_found.name,
      in_use = v_found.in_use
    where p.id = v_found.id;
  end if;
  return v_found;
end
$$;
