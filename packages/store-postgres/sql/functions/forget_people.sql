-- Those of them without a chat, a message and a reaction are to be erased. Indexes chats_by_person,
-- received_messages_by_author and reactions_by_person.
create function forget_people(p_people bigint[]) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  update people p
  set in_use = false
  where p.id = any (p_people)
    and p.in_use
    and not exists (select from chats c where c.person_id = p.id)
    and not exists (select from received_messages r where r.author_id = p.id)
    and not exists (select from reactions x where x.person_id = p.id);
end
$$;
