-- The guard that did not hold; null, with what the number shows, when the attempt has begun.
create function reconnect_linking(
  p_workspace_id bigint,
  p_number_id bigint,
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
) returns table (guard text, phone text, label text)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  -- As the attempt keeps it.
  v_before text;
  v_phone text;
  v_label text;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return query select 'idempotency', null::text, null::text;
    return;
  end if;

  perform look_at_campaigns(p_workspace_id, a_requested_at);
  perform
  from lanes l
  where l.number_id = p_number_id
    and l.workspace_id = p_workspace_id
  for no key update;

  -- A later statement than the lock: it sees all that went before.
  select coalesce(n.phone, '')
  into v_before
  from numbers n
  where n.id = p_number_id
    and a_phone is not null;

  update numbers n
  set status = 'connecting',
    status_since = a_requested_at,
    status_reason = null,
    login_method = a_method,
    phone = coalesce(a_phone, n.phone),
    callback_url = a_callback_url
  where n.id = p_number_id
    and n.workspace_id = p_workspace_id
    and n.removed_at is null
    and n.status = 'disconnected'
  returning n.phone, n.label
  into v_phone, v_label;
  if not found then
    return query select 'number', null::text, null::text;
    return;
  end if;

  update lanes l
  set pacing = a_pacing
  where l.number_id = p_number_id
    and l.pacing is null
    and a_pacing is not null;
  insert into linking_attempts (
    number_id, phone_before, id, mode, method, phone, requested_at, ends_at, links_at, qr_text,
    qr_expires_at, pairing_code, pairing_code_expires_at, linking
  )
  values (
    p_number_id, v_before, a_id, a_mode, a_method, a_phone, a_requested_at, a_ends_at, a_links_at,
    a_qr_text, a_qr_expires_at, a_pairing_code, a_pairing_code_expires_at, a_linking
  );
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[p_number_id], a_requested_at, jsonb_build_object(
      'phone', v_phone, 'label', v_label
    )
  );
  return query select null::text, v_phone, v_label;
end
$$;
