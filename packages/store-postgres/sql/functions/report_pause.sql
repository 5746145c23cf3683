-- Reports the begin or end of a number's pause; the number's lane is locked. A pause that takes over from one that has
-- ended without an event continues.
create function report_pause(p_number bigint, p_event_id text, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_lane lanes;
begin
  update lanes l
  set pause_reported = not l.pause_reported
  where l.number_id = p_number
    and p_event_id is not null
    and l.removed_at is null
    and tells_of_pause(l, p_now)
    and has_conversations(l.workspace_id)
  returning l.*
  into v_lane;
  if v_lane.number_id is null then
    return;
  end if;
  if v_lane.pause_reported then
    perform report_number(p_number, p_event_id, 'number.paused', v_lane.pause_reason, p_now, p_now);
  else
    perform report_number(
      p_number, p_event_id, 'number.resumed', null, least(v_lane.paused_until, p_now), p_now
    );
  end if;
end
$$;
