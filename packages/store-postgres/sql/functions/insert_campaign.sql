-- The campaign's id, or the guard that did not hold.
--
-- Locks: the claim, as everywhere first; then the workspace, so that two campaigns are not both the last one.
create function insert_campaign(
  p_workspace_id bigint,
  p_mode text,
  p_state text,
  p_state_reason text,
  p_is_holding boolean,
  p_asks_from_row boolean,
  p_running_since timestamptz,
  p_look_at timestamptz,
  p_created_at timestamptz,
  p_started_at timestamptz,
  p_ended_at timestamptz,
  p_name text,
  p_text text,
  p_media jsonb,
  p_number_ids bigint[],
  p_reference text,
  p_timezone text,
  p_send_at timestamptz,
  p_hours jsonb,
  p_expires_at timestamptz,
  p_quota_reserve integer,
  p_default_country_code text,
  p_duplicates text,
  p_original jsonb,
  p_most integer,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns table (id bigint, guard text)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return query select null::bigint, 'idempotency';
    return;
  end if;

  perform
  from workspaces w
  where w.id = p_workspace_id
  for no key update;

  -- A later statement than the lock. Index campaigns_open.
  if p_most <= (
    select count(*)
    from campaigns c
    where c.workspace_id = p_workspace_id
      and c.mode = p_mode
      and c.removed_at is null
      and not has_campaign_ended(c)
  ) then
    return query select null::bigint, 'full';
    return;
  end if;

  insert into campaigns (
    workspace_id, mode, state, state_reason, is_holding, asks_from_row, running_since, look_at,
    looked_at, created_at, started_at, ended_at, name, text, media, number_ids, reference, timezone,
    send_at, hours, expires_at, quota_reserve, default_country_code, duplicates, original
  )
  values (
    p_workspace_id, p_mode, p_state, p_state_reason, p_is_holding, p_asks_from_row, p_running_since,
    p_look_at, p_created_at, p_created_at, p_started_at, p_ended_at, p_name, p_text, p_media,
    p_number_ids, p_reference, p_timezone, p_send_at, p_hours, p_expires_at, p_quota_reserve,
    p_default_country_code, p_duplicates, p_original
  )
  returning id into v_id;
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_id], p_created_at, null
  );
  return query select v_id, null::text;
end
$$;
