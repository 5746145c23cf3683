-- Reports pauses that ended by themselves, the earliest first, one for each id at most. A lane that another
-- transaction holds is left for the next time. How many.
create function report_ended_pauses(p_now timestamptz, p_event_ids text[]) returns integer
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
    -- Index lanes_paused.
    select l.number_id
    from lanes l
    where l.pause_reported
      and pause_end(l) <= p_now
      and l.removed_at is null
      and has_conversations(l.workspace_id)
    order by pause_end(l), l.number_id
    limit cardinality(p_event_ids)
    for no key update skip locked
  ) ended;
  perform report_pause(ended.number_id, p_event_ids[ended.place], p_now)
  from unnest(v_numbers) with ordinality ended (number_id, place);
  return coalesce(cardinality(v_numbers), 0);
end
$$;
