-- A campaign's held messages wait again, in their order, but for those that also wait for new chats.
--
-- Locks: the lanes by id, for a holder of the campaign's lock; only later statements look at messages.
create function release_campaign(p_id bigint, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_numbers bigint[];
begin
  -- Index messages_by_campaign.
  v_numbers := array(
    select distinct m.number_id
    from messages m
    where m.campaign_id = p_id
      and m.state = 'waiting'
      and is_held(m)
  );
  perform
  from lanes l
  where l.number_id = any (v_numbers)
  order by l.number_id
  for no key update;

  update messages m
  set due_at = planned_time(m.due_at, m.send_at, m.created_at)
  where m.campaign_id = p_id
    and m.state = 'waiting'
    and is_held(m)
    and m.awaits_new_chats is null;

  update lanes l
  set limited_until = null,
    turn_due = null,
    front = '-infinity',
    next_due = next_due_changed(
      l, holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l)),
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = any (v_numbers);
end
$$;
