-- Revokes a key, once: the webhook endpoints that it made stop with it. Returns the key
-- afterwards; null when the workspace has no such key.
--
-- Locks: the key, so that no endpoint is made with it meanwhile; then the lanes of its endpoints.
create function revoke_key(p_workspace_id bigint, p_id bigint, p_now timestamptz)
returns api_keys
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_key api_keys;
begin
  update api_keys k
  set revoked_at = coalesce(k.revoked_at, p_now)
  where k.id = p_id
    and k.workspace_id = p_workspace_id
  returning * into v_key;
  if found then
    -- Index webhook_endpoints_by_key.
    perform stop_webhook_endpoints(
      array(
        select e.id
        from webhook_endpoints e
        where e.key_id = p_id
          and is_running(e)
      ),
      'key_revoked'
    );
  end if;
  return v_key;
end
$$;
