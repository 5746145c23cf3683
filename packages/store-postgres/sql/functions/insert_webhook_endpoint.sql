-- The endpoint's id, or which guard broke.
create function insert_webhook_endpoint(
  p_workspace_id bigint,
  p_mode text,
  p_key_id bigint,
  p_url text,
  p_description text,
  p_events text[],
  p_secret_salt text,
  p_secret_last4 text,
  p_created_at timestamptz,
  p_limit integer,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns table (guard text, id bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return query select 'idempotency', v_id;
    return;
  end if;

  if p_key_id is not null then
    perform
    from api_keys k
    where k.id = p_key_id
      and k.revoked_at is null
    for share;
    if not found then
      return query select 'key', v_id;
      return;
    end if;
  end if;

  perform
  from workspaces w
  where w.id = p_workspace_id
    and w.deleted_at is null
  for no key update;
  if not found or holds_all_endpoints(p_workspace_id, p_limit) then
    return query select 'limit', v_id;
    return;
  end if;

  insert into webhook_endpoints (
    first_secret_last4, workspace_id, mode, key_id, url, description, events, secret_salt,
    secret_last4, created_at
  )
  values (
    p_secret_last4, p_workspace_id, p_mode, p_key_id, p_url, p_description, p_events, p_secret_salt,
    p_secret_last4, p_created_at
  )
  returning webhook_endpoints.id into v_id;
  insert into webhook_lanes (endpoint_id, delivered_since, gets_received)
  values (v_id, p_created_at, names_received(p_events));
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_id], p_created_at, null
  );
  return query select null, v_id;
end
$$;
