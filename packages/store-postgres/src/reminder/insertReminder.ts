/** Making a reminder. Locks: the claim, as everywhere first. */
import { sqlFunction } from "../database/SqlFunction.ts"
import { finishClaim, holdClaim } from "../request/finishClaim.ts"

/** The reminder's id; null when the claim is no longer held. */
export const insertReminder = sqlFunction(
  "insert_reminder",
  `(
    p_workspace bigint,
    p_mode text,
    p_number bigint,
    p_name text,
    p_active boolean,
    p_recipient jsonb,
    p_text text,
    p_media jsonb,
    p_cron text,
    p_timezone text,
    p_next_run_at timestamptz,
    p_now timestamptz,
    p_claim_key_id bigint,
    p_claim_key text,
    p_claim_fingerprint text,
    p_claim_token text
  )
  returns bigint
  language plpgsql
  as $function$
  declare
    v_id bigint;
  begin
    if not ${holdClaim.name}(p_claim_key_id, p_claim_key, p_claim_token) then
      return null;
    end if;
    insert into reminders (
      workspace_id, mode, number_id, name, active, recipient, text, media, cron, timezone,
      next_run_at, created_at
    )
    values (
      p_workspace, p_mode, p_number, p_name, p_active, p_recipient, p_text, p_media, p_cron,
      p_timezone, p_next_run_at, p_now
    )
    returning id into v_id;
    perform ${finishClaim.name}(
      p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_id], p_now
    );
    return v_id;
  end
  $function$`,
)
