-- Erases these reactions to messages of the service with their events. For holders of their numbers' rows in
-- received_counters.
create function erase_reactions(p_ids bigint[]) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_people bigint[];
  v_positions bigint[];
begin
  with gone as (
    delete from reactions x
    where x.id = any (p_ids)
    returning x.person_id, x.event_positions
  )
  select
    array(select gone.person_id from gone),
    array(select unnest(gone.event_positions) from gone)
  into v_people, v_positions;
  perform forget_people(v_people);
  perform end_received_events('{}', v_positions);
end
$$;
