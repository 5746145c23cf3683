-- Sets due messages to new recipients aside in lanes where new chats are closed, as many as one claim may, and
-- releases them where the wait is over. Returns the numbers that may send their next p_turn messages: the others stay
-- due, and the next claim continues with them. What may have left already is never set aside; while it may have, nothing
-- else leaves its lane.
--
-- Locks: none of its own, for holders of the lanes; only later statements look at messages.
create function set_new_chats_aside(p_numbers bigint[], p_turn integer, p_now timestamptz)
returns bigint[]
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_lane lanes;
  v_message messages;
  v_ready bigint[] := '{}';
  -- Of all lanes together: more would keep their locks for long.
  v_left integer := 500;
  v_aside bigint[];
  v_known text[];
begin
  for v_lane in
    select l.*
    from lanes l
    where l.number_id = any (p_numbers)
    order by l.next_due, l.number_id
  loop
    if v_lane.new_chats_until <= p_now then
      perform set_new_chats(array[v_lane.number_id], null, p_now);
    end if;
    if v_lane.new_chats_until <= p_now or may_have_left(v_lane) or v_lane.removed_at is not null then
      v_ready := v_ready || v_lane.number_id;
      continue;
    end if;

    v_aside := '{}';
    v_known := '{}';
    -- The message of the latest attempt goes before all others.
    for v_message in
      select m.*
      from messages m
      where m.id = v_lane.head_id
        and is_waiting(m)
        and not is_held(m)
      union all
      (
        select m.*
        from next_waiting(v_lane.number_id, v_lane.front, p_now, v_left + p_turn) next
        join messages m on m.id = next.id
        where next.due_at <= p_now
          and next.id is distinct from v_lane.head_id
        order by next.due_at, next.id
      )
    loop
      exit when cardinality(v_known) >= p_turn or cardinality(v_aside) >= v_left;
      if is_known_recipient(v_message) then
        v_known := v_known || coalesce(v_message.to_phone, '');
      else
        v_aside := v_aside || v_message.id;
      end if;
    end loop;

    if cardinality(v_aside) < v_left or cardinality(v_known) >= p_turn then
      v_ready := v_ready || v_lane.number_id;
    end if;
    if cardinality(v_aside) > 0 then
      v_left := v_left - cardinality(v_aside);
      update messages m
      set due_at = 'infinity',
        awaits_new_chats = true
      where m.id = any (v_aside);
      update lanes l
      set head_id = null
      where l.number_id = v_lane.number_id
        and l.head_id = any (v_aside);
    end if;
    -- People who became known meanwhile get what waited before the next one.
    perform release_new_chats(array[v_lane.number_id], v_known, p_now);
  end loop;
  return v_ready;
end
$$;
