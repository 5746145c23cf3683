-- Whether receive_messages would take it for a repeat, erased ones included.
--
-- Never null: answer
create function is_received(
  p_number bigint,
  p_remote_id text,
  p_mode text,
  p_from_me boolean,
  p_group_id text,
  p_phone text,
  p_lid text,
  p_user_id text
) returns boolean
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
begin
  return exists (
    select
    from (
      select p_phone, p_lid, p_user_id
      union all
      select known.phone, known.lid, known.user_id
      from people_at(p_number, p_phone, p_lid, p_user_id) known
    ) person (phone, lid, user_id)
    cross join lateral unnest(marks_of_received(
      p_mode, p_from_me, p_group_id, p_remote_id, person.phone, person.lid, person.user_id
    )) one (mark)
    join received_marks m on m.number_id = p_number
      and m.mark = one.mark
  )
  and exists (
    select
    from numbers n
    where n.id = p_number
      and n.removed_at is null
  );
end
$$;
