-- Returns the event's type, or the state of an endpoint that takes none.
create function queue_webhook_ping(
  p_workspace_id bigint,
  p_mode text,
  p_id bigint,
  p_event_id text,
  p_created_at timestamptz,
  p_body text
) returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_state constant text := lock_webhook_endpoint(p_workspace_id, p_mode, p_id);
begin
  if v_state <> 'running' then
    return v_state;
  end if;
  insert into webhook_deliveries (endpoint_id, due_at, event_id, type, body, beside_received)
  select e.id, p_created_at, p_event_id, 'ping', p_body, is_beside_received(e, 'ping')
  from webhook_endpoints e
  where e.id = p_id;
  update webhook_lanes l
  set next_due = least(l.next_due, p_created_at)
  where l.endpoint_id = p_id;
  return 'ping';
end
$$;
