-- The state of the endpoint, once its lane is locked: running, stopped or no endpoint.
create function lock_webhook_endpoint(p_workspace_id bigint, p_mode text, p_id bigint)
returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from webhook_lanes l
  where l.endpoint_id = p_id
  for no key update;

  return coalesce(
    (
      select case when is_running(e) then 'running' else 'stopped' end
      from webhook_endpoints e
      where e.id = p_id
        and e.workspace_id = p_workspace_id
        and (p_mode is null or e.mode = p_mode)
        and e.removed_at is null
    ),
    'no endpoint'
  );
end
$$;
