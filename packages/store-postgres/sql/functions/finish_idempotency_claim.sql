-- Turns a claim that is held into the record of what was made. Without a key it does nothing.
create function finish_idempotency_claim(
  p_key_id bigint,
  p_key text,
  p_fingerprint text,
  p_made_ids bigint[],
  p_now timestamptz,
  p_shown jsonb
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  if p_key is null then
    return;
  end if;
  delete from idempotency_claims c
  where c.key_id = p_key_id
    and c.key = p_key;
  -- A record that is still there is void: else the key could not have been claimed.
  insert into idempotency_records (key_id, key, fingerprint, made_ids, created_at, shown)
  values (p_key_id, p_key, p_fingerprint, p_made_ids, p_now, p_shown)
  on conflict (key_id, key) do update
  set fingerprint = excluded.fingerprint,
    made_ids = excluded.made_ids,
    created_at = excluded.created_at,
    shown = excluded.shown;
end
$$;
