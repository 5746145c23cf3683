-- What happened to it: running, limit or no endpoint.
create function resume_webhook_endpoint(
  p_workspace_id bigint,
  p_mode text,
  p_id bigint,
  p_limit integer,
  p_now timestamptz
) returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_state text;
begin
  perform
  from workspaces w
  where w.id = p_workspace_id
    and w.deleted_at is null
  for no key update;
  if not found then
    return 'no endpoint';
  end if;

  v_state := lock_webhook_endpoint(p_workspace_id, p_mode, p_id);
  if v_state <> 'stopped' then
    return v_state;
  end if;
  if holds_all_endpoints(p_workspace_id, p_limit) then
    return 'limit';
  end if;

  update webhook_endpoints e
  set disabled_reason = null
  where e.id = p_id;
  update webhook_lanes l
  set delivered_since = p_now
  where l.endpoint_id = p_id;
  return 'running';
end
$$;
