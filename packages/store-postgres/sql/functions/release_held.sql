-- Held messages wait like others again, and count in their numbers' quotas. Their lanes are due with what comes first now; the numbers' limits
-- are looked at once more.
--
-- Locks: the lanes by id; only later statements look at messages.
--
-- Never null: message_id
create function release_held(p_ids bigint[], p_numbers bigint[], p_now timestamptz)
returns table (message_id bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_released bigint[];
begin
  perform
  from lanes l
  where l.number_id = any (p_numbers)
  order by l.number_id
  for no key update;

  with released as (
    update messages m
    set due_at = planned_time(m.due_at, m.send_at, m.created_at)
    from unnest(p_ids) asked (id)
    where m.id = asked.id
      and is_waiting(m)
      and is_held_by_restore(m)
    returning m.id
  )
  select array_agg(released.id)
  into v_released
  from released;
  if v_released is null then
    return;
  end if;

  update lanes l
  set limited_until = null,
    turn_due = null,
    front = '-infinity',
    quota_full_until = null,
    next_due = next_due_changed(
      l, holds_until(l, l.paused_until, may_have_left(l), is_open(l)),
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = any (p_numbers);

  return query
  select one.id
  from unnest(v_released) one (id);
end
$$;
