-- Takes a campaign's waiting messages out of their lanes, but for those that a transport has in hands. Turns go on
-- without them. They go on counting in the quota.
--
-- Locks: the lanes by id, for a holder of the campaign's lock: no message of it comes meanwhile. Only later
-- statements look at messages.
create function hold_campaign(p_id bigint, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_numbers bigint[];
  v_held bigint[];
begin
  -- Index messages_by_campaign.
  v_numbers := array(
    select distinct m.number_id
    from messages m
    where m.campaign_id = p_id
      and m.state = 'waiting'
  );
  perform
  from lanes l
  where l.number_id = any (v_numbers)
  order by l.number_id
  for no key update;

  with held as (
    update messages m
    set due_at = 'infinity'
    from lanes l
    where l.number_id = m.number_id
      and l.removed_at is null
      and m.campaign_id = p_id
      and m.state = 'waiting'
      and not is_held(m)
      and not is_in_flight(m, l)
    returning m.id, m.number_id
  )
  select array_agg(held.id), array_agg(distinct held.number_id)
  into v_held, v_numbers
  from held;

  update lanes l
  set head_id = case when l.head_id = any (v_held) then null else l.head_id end,
    turn = case when l.turn is not null then array(
      select one.id
      from unnest(l.turn) with ordinality one (id, place)
      where one.id <> all (v_held)
      order by one.place
    ) end,
    limited_until = null,
    next_due = next_due_ended(
      l, (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = any (v_numbers);
end
$$;
