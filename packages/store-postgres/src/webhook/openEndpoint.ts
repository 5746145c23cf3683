/**
 * Making endpoints, and letting stopped ones run again.
 *
 * Locks: the claim, then the key, then the workspace, so that two of a workspace count one after the
 * other and none is missed by a revocation or a deletion; then the lane.
 */
import { sqlFunction } from "../database/SqlFunction.ts"
import { finishClaim, holdClaim } from "../request/PostgresIdempotency.ts"

/** The endpoint's id, or which guard broke. */
export const insertEndpoint = sqlFunction(
  "insert_webhook_endpoint",
  `(
    p_workspace bigint,
    p_key bigint,
    p_mode text,
    p_url text,
    p_description text,
    p_events text[],
    p_salt text,
    p_last4 text,
    p_now timestamptz,
    p_limit integer,
    p_claim_key_id bigint,
    p_claim_key text,
    p_claim_fingerprint text,
    p_claim_token text,
    out guard text,
    out id bigint
  )
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_id bigint;
  begin
    if not ${holdClaim.name}(p_claim_key_id, p_claim_key, p_claim_token) then
      guard := 'idempotency';
      return;
    end if;

    if p_key is not null then
      perform
      from api_keys k
      where k.id = p_key
        and k.revoked_at is null
      for share;
      if not found then
        guard := 'key';
        return;
      end if;
    end if;

    perform
    from workspaces w
    where w.id = p_workspace
      and w.deleted_at is null
    for no key update;
    if not found or p_limit <= (
      select count(*)
      from webhook_endpoints e
      where e.workspace_id = p_workspace
        and e.disabled_reason is null
        and e.removed_at is null
    ) then
      guard := 'limit';
      return;
    end if;

    insert into webhook_endpoints (
      workspace_id, key_id, mode, url, description, events, secret_salt, secret_last4,
      first_secret_last4, created_at
    )
    values (
      p_workspace, p_key, p_mode, p_url, p_description, p_events, p_salt, p_last4, p_last4, p_now
    )
    returning webhook_endpoints.id into v_id;
    insert into webhook_lanes (endpoint_id, delivered_since)
    values (v_id, p_now);
    perform ${finishClaim.name}(
      p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_id], p_now
    );
    id := v_id;
  end
  $function$`,
)

/** What became of it: `running`, `limit` or `none`. */
export const resumeEndpoint = sqlFunction(
  "resume_webhook_endpoint",
  `(p_workspace bigint, p_mode text, p_endpoint bigint, p_limit integer, p_now timestamptz)
  returns text
  language plpgsql
  as $function$
  declare
    v_reason text;
  begin
    perform
    from workspaces w
    where w.id = p_workspace
      and w.deleted_at is null
    for no key update;
    if not found then
      return 'none';
    end if;

    perform
    from webhook_lanes l
    where l.endpoint_id = p_endpoint
    for no key update;

    select e.disabled_reason
    into v_reason
    from webhook_endpoints e
    where e.id = p_endpoint
      and e.workspace_id = p_workspace
      and (p_mode is null or e.mode = p_mode)
      and e.removed_at is null;
    if not found then
      return 'none';
    end if;
    if v_reason is null then
      return 'running';
    end if;
    if p_limit <= (
      select count(*)
      from webhook_endpoints e
      where e.workspace_id = p_workspace
        and e.disabled_reason is null
        and e.removed_at is null
    ) then
      return 'limit';
    end if;

    update webhook_endpoints e
    set disabled_reason = null
    where e.id = p_endpoint;
    update webhook_lanes l
    set delivered_since = p_now
    where l.endpoint_id = p_endpoint;
    return 'running';
  end
  $function$`,
)
