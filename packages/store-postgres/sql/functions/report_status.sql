-- Reports the status of a number, by that before it changed.
create function report_status(
  p_number bigint, p_before text, p_event_id text, p_now timestamptz
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform report_number(
    n.id, p_event_id, 'number.' || n.status,
    case when n.status <> 'connected' then n.status_reason end, p_now, p_now
  )
  from numbers n
  where n.id = p_number
    and tells_of_status(p_before, n.status);
end
$$;
