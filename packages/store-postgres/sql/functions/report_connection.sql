-- Writes the callback of an event of a number's connection, if the number still reports to that address. Without
-- an event it writes nothing. For holders of the lock of the number's lane.
create function report_connection(
  p_number bigint,
  p_workspace bigint,
  p_target text,
  p_url text,
  p_created_at timestamptz,
  p_event_id text,
  p_type text,
  p_body text
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  with called as (
    insert into webhook_deliveries (endpoint_id, workspace_id, url, due_at, event_id, type, body)
    select
      callback_lane(p_workspace, p_target), p_workspace, p_url, p_created_at, p_event_id, p_type,
      p_body
    from numbers n
    where n.id = p_number
      and is_reported_to(n, p_url)
    returning endpoint_id, workspace_id
  )
  insert into webhook_marks (lane_id, workspace_id)
  select distinct called.endpoint_id, called.workspace_id
  from called;
end
$$;
