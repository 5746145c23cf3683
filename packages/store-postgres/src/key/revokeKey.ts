/**
 * Revoking a key, once: the webhook endpoints that it made stop with it.
 *
 * Locks: the key, so that no endpoint is made with it meanwhile; then the lanes of its endpoints.
 */
import { sqlFunction } from "../database/SqlFunction.ts"
import { stopEndpoints } from "../webhook/endEndpoints.ts"

/** The key as it then stands; null when the workspace has no such key. */
export const revokeKey = sqlFunction(
  "revoke_key",
  `(p_workspace bigint, p_key bigint, p_now timestamptz)
  returns api_keys
  language plpgsql
  as $function$
  declare
    v_key api_keys;
  begin
    update api_keys k
    set revoked_at = coalesce(k.revoked_at, p_now)
    where k.id = p_key
      and k.workspace_id = p_workspace
    returning * into v_key;
    if found then
      -- Index webhook_endpoints_by_key.
      perform ${stopEndpoints.name}(
        array(
          select e.id
          from webhook_endpoints e
          where e.key_id = p_key
            and e.disabled_reason is null
            and e.removed_at is null
        ),
        'key_revoked'
      );
    end if;
    return v_key;
  end
  $function$`,
)
