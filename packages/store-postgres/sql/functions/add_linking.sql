-- Creates a number with its lane and linking attempt. Returns the number's id, or the guard that failed. A
-- null p_limit sets no limit.
--
-- Locks: the claim, as everywhere first; then the campaigns (see look_at_campaigns), then the workspace.
create function add_linking(
  n_workspace_id bigint,
  n_mode text,
  n_phone text,
  n_label text,
  n_platform text,
  n_login_method text,
  n_created_at timestamptz,
  p_limit bigint,
  a_id text,
  a_mode text,
  a_method text,
  a_phone text,
  a_requested_at timestamptz,
  a_ends_at timestamptz,
  a_links_at timestamptz,
  a_qr_text text,
  a_qr_expires_at timestamptz,
  a_pairing_code text,
  a_pairing_code_expires_at timestamptz,
  a_linking boolean,
  a_callback_url text,
  a_pacing integer[],
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns table (number_id bigint, guard text)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_number bigint;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return query select null::bigint, 'idempotency';
    return;
  end if;

  perform look_at_campaigns(n_workspace_id, n_created_at);
  perform
  from workspaces w
  where w.id = n_workspace_id
    and w.deleted_at is null
  for no key update;
  if not found then
    return query select null::bigint, 'number';
    return;
  end if;

  -- A later statement than the lock: it sees all that went before.
  if holds_all_numbers(n_workspace_id, p_limit) then
    return query select null::bigint, 'limit';
    return;
  end if;

  insert into numbers (
    status, callback_url, workspace_id, mode, phone, label, platform, login_method, created_at
  )
  values (
    'connecting', a_callback_url, n_workspace_id, n_mode, n_phone, n_label, n_platform,
    n_login_method, n_created_at
  )
  returning id into v_number;
  insert into lanes (number_id, workspace_id, connected, pacing, disabled)
  select v_number, n_workspace_id, false, a_pacing, w.account_disabled
  from workspaces w
  where w.id = n_workspace_id;
  insert into linking_attempts (
    number_id, phone_before, id, mode, method, phone, requested_at, ends_at, links_at, qr_text,
    qr_expires_at, pairing_code, pairing_code_expires_at, linking
  )
  values (
    v_number, null, a_id, a_mode, a_method, a_phone, a_requested_at, a_ends_at, a_links_at,
    a_qr_text, a_qr_expires_at, a_pairing_code, a_pairing_code_expires_at, a_linking
  );
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_number], a_requested_at, null
  );
  return query select v_number, null::text;
end
$$;
