/**
 * Finishing a claim on an idempotency key inside the commit of what was made with it: for the
 * functions of operations that are not sends, which finish theirs many at a time.
 */
import { sqlFunction } from "../database/SqlFunction.ts"

/**
 * Locks a claim, as the first lock of a commit; false when it is no longer held by this token.
 * Without a key there is nothing to lock, and it is true.
 */
export const holdClaim = sqlFunction(
  "hold_idempotency_claim",
  `(p_key_id bigint, p_key text, p_token text)
  returns boolean
  language plpgsql
  as $function$
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
  $function$`,
)

/** Turns a claim that is held into the record of what was made. Without a key it does nothing. */
export const finishClaim = sqlFunction(
  "finish_idempotency_claim",
  `(p_key_id bigint, p_key text, p_fingerprint text, p_made_ids bigint[], p_now timestamptz)
  returns void
  language plpgsql
  as $function$
  begin
    if p_key is null then
      return;
    end if;
    delete from idempotency_claims c
    where c.key_id = p_key_id
      and c.key = p_key;
    -- A record that is still there is void: else the key could not have been claimed.
    insert into idempotency_records (key_id, key, fingerprint, made_ids, created_at)
    values (p_key_id, p_key, p_fingerprint, p_made_ids, p_now)
    on conflict (key_id, key) do update
    set fingerprint = excluded.fingerprint,
      made_ids = excluded.made_ids,
      created_at = excluded.created_at;
  end
  $function$`,
)
