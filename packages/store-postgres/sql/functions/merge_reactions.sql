-- The reactions of a person are another one's: of two to one message the later one stays. Index reactions_by_person.
create function merge_reactions(p_from bigint, p_into bigint) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  with two as (
    select a.id as from_id, b.id as into_id, a.reacted_at > b.reacted_at as is_from_later
    from reactions a
    join reactions b on b.person_id = p_into
      and not b.from_me
      and (b.received_message_id = a.received_message_id or b.message_id = a.message_id)
    where a.person_id = p_from
      and not a.from_me
  ),
  gone as (
    delete from reactions x
    using two
    where x.id = case when two.is_from_later then two.into_id else two.from_id end
    returning
      case when two.is_from_later then two.from_id else two.into_id end as remaining_id, x.event_positions
  )
  update reactions x
  set event_positions = x.event_positions || gone.event_positions
  from gone
  where x.id = gone.remaining_id;

  update reactions x
  set person_id = p_into
  where x.person_id = p_from;
end
$$;
