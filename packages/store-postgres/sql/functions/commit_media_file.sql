-- Puts a reserved file into the directory. Returns the guard that did not hold; null when the file is
-- there. Locks: the claim first, then the file.
create function commit_media_file(
  p_id bigint,
  p_now timestamptz,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return 'idempotency';
  end if;
  update media_files m
  set state = 'kept'
  where m.id = p_id
    and m.state = 'reserved';
  if not found then
    return 'reservation';
  end if;
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[p_id], p_now, null
  );
  return null;
end
$$;
