-- Claims a key for a request; null when it is claimed, else what prevents it.
create function claim_idempotency_key(
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text,
  p_now timestamptz
) returns json
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_record idempotency_records;
begin
  insert into idempotency_claims as held (key_id, key, fingerprint, token, claimed_at)
  values (p_claim_key_id, p_claim_key, p_claim_fingerprint, p_claim_token, p_now)
  on conflict (key_id, key) do update
  set fingerprint = excluded.fingerprint,
    token = excluded.token,
    claimed_at = excluded.claimed_at
  where held.token = excluded.token
    or is_claim_void(held.claimed_at, p_now);
  if not found then
    return json_build_object('_tag', 'InProgress');
  end if;

  select r.*
  into v_record
  from idempotency_records r
  where r.key_id = p_claim_key_id
    and r.key = p_claim_key
    and not (is_record_void(r.created_at, p_now));
  if not found then
    return null;
  end if;

  delete from idempotency_claims c
  where c.key_id = p_claim_key_id
    and c.key = p_claim_key;
  return json_build_object(
    '_tag', 'Finished',
    'record', jsonb_build_object(
      'fingerprint', v_record.fingerprint,
      'madeIds', v_record.made_ids,
      'createdAt', epoch_millis(v_record.created_at)
    ) || case
      when v_record.shown is null then '{}'
      else jsonb_build_object('shown', v_record.shown)
    end
  );
end
$$;
