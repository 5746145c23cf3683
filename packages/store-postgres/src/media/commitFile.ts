/** Putting a reserved file into the directory. Locks: the claim first, then the file. */
import { sqlFunction } from "../database/SqlFunction.ts"
import { finishClaim, holdClaim } from "../request/finishClaim.ts"

/** The guard that did not hold; null when the file is in the directory. */
export const commitFile = sqlFunction(
  "commit_media_file",
  `(
    p_id bigint, p_key_id bigint, p_key text, p_fingerprint text, p_token text, p_now timestamptz
  )
  returns text
  language plpgsql
  as $function$
  begin
    if not ${holdClaim.name}(p_key_id, p_key, p_token) then
      return 'idempotency';
    end if;
    update media_files m
    set state = 'kept'
    where m.id = p_id
      and m.state = 'reserved';
    if not found then
      return 'reservation';
    end if;
    perform ${finishClaim.name}(p_key_id, p_key, p_fingerprint, array[p_id], p_now);
    return null;
  end
  $function$`,
)
