-- Releases what waits for new chats where the wait is over, the earliest first. A lane that another transaction holds
-- is left for the next time. How many lanes.
create function open_new_chats(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_numbers bigint[];
begin
  select array_agg(ended.number_id)
  into v_numbers
  from (
    -- Index lanes_new_chats.
    select l.number_id
    from lanes l
    where l.new_chats_until <= p_now
    order by l.new_chats_until
    limit p_limit
    for no key update skip locked
  ) ended;
  if v_numbers is null then
    return 0;
  end if;
  perform set_new_chats(v_numbers, null, p_now);
  return cardinality(v_numbers);
end
$$;
