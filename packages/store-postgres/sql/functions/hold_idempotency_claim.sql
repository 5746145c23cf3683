-- Locks a claim, as the first lock of a commit; false when it is no longer held by this token.
-- Without a key there is nothing to lock, and it is true.
create function hold_idempotency_claim(p_key_id bigint, p_key text, p_token text)
returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  if p_token is null then
    return true;
  end if;
  perform from idempotency_claims c
  where c.key_id = p_key_id
    and c.key = p_key
    and c.token = p_token
  for update;
  return found;
end
$$;
