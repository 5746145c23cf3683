-- Messages that wait for new chats wait like others again, in their order: those of these numbers, or only those to
-- these phones. What a campaign holds stays held by it. Whether there were any.
--
-- Locks: none of its own, for holders of the lanes; only a later statement than their lock looks at messages.
create function release_new_chats(p_numbers bigint[], p_phones text[], p_now timestamptz) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_numbers bigint[];
begin
  with released as (
    -- Index messages_awaiting_new_chats.
    update messages m
    set awaits_new_chats = null,
      due_at = case
        when exists (
          select
          from campaigns c
          where c.id = m.campaign_id
            and c.is_holding
            and c.removed_at is null
        )
        then 'infinity'
        else planned_time(m.due_at, m.send_at, m.created_at)
      end
    where m.awaits_new_chats
      and m.number_id = any (p_numbers)
      and (p_phones is null or m.to_phone = any (p_phones))
    returning m.number_id
  )
  select array_agg(distinct released.number_id)
  into v_numbers
  from released;
  if v_numbers is null then
    return false;
  end if;

  update lanes l
  set limited_until = null,
    turn_due = null,
    front = '-infinity',
    next_due = next_due_changed(
      l, holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l)),
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = any (v_numbers);
  return true;
end
$$;
