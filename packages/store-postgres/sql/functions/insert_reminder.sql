-- The reminder's id; null when the claim is no longer held. Locks: the claim, as everywhere first.
create function insert_reminder(
  p_workspace_id bigint,
  p_mode text,
  p_next_run_at timestamptz,
  p_created_at timestamptz,
  p_name text,
  p_active boolean,
  p_recipient jsonb,
  p_number_id bigint,
  p_text text,
  p_media jsonb,
  p_cron text,
  p_timezone text,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns bigint
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return null;
  end if;
  insert into reminders (
    workspace_id, mode, next_run_at, created_at, name, active, recipient, number_id, text, media,
    cron, timezone
  )
  values (
    p_workspace_id, p_mode, p_next_run_at, p_created_at, p_name, p_active, p_recipient, p_number_id,
    p_text, p_media, p_cron, p_timezone
  )
  returning id into v_id;
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_id], p_created_at, null
  );
  return v_id;
end
$$;
