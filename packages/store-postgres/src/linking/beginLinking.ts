/**
 * Beginning an attempt at linking, of a new number or of one that is there.
 *
 * Locks: the claim first, as everywhere. For a new number the workspace, so that numbers are counted
 * and made one after the other; an operator who adds one is not counted and not held up. For one that
 * is there its lane, like everybody who changes its status.
 */
import { sqlFunction } from "../database/SqlFunction.ts"
import { finishClaim, holdClaim } from "../request/finishClaim.ts"

const parameters = `
    p_attempt text, p_mode text, p_method text, p_phone text, p_requested_at timestamptz,
    p_ends_at timestamptz, p_links_at timestamptz, p_qr_text text, p_pairing_code text,
    p_pairing_code_expires_at timestamptz, p_linking boolean,
    p_callback_url text, p_key_id bigint, p_key text, p_fingerprint text, p_token text`

/** The attempt's row, and the end of the claim. A number that is not connecting has no other row. */
const insertAttempt = (number: string, phoneBefore: string) => `
    insert into linking_attempts (
      number_id, id, mode, method, phone, phone_before, requested_at, ends_at, links_at, qr_text,
      pairing_code, pairing_code_expires_at, linking
    )
    values (
      ${number}, p_attempt, p_mode, p_method, p_phone, ${phoneBefore}, p_requested_at, p_ends_at,
      p_links_at, p_qr_text, p_pairing_code, p_pairing_code_expires_at, p_linking
    );
    perform ${finishClaim.name}(p_key_id, p_key, p_fingerprint, array[${number}], p_requested_at);`

/** The new number's id, or the guard that did not hold. */
export const addLinking = sqlFunction(
  "add_linking",
  `(
    p_workspace bigint, p_label text, p_platform text, p_created_at timestamptz, p_limit bigint,
    ${parameters.trimStart()}
  )
  returns table (number_id bigint, guard text)
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_number bigint;
  begin
    if not ${holdClaim.name}(p_key_id, p_key, p_token) then
      return query select null::bigint, 'idempotency';
      return;
    end if;

    perform
    from workspaces w
    where w.id = p_workspace
      and w.deleted_at is null
    for no key update;
    if not found then
      return query select null::bigint, 'number';
      return;
    end if;

    -- Index numbers_by_workspace. A later statement than the lock: it sees all that went before.
    if p_limit <= (
      select count(*)
      from numbers n
      where n.workspace_id = p_workspace
        and n.removed_at is null
    ) then
      return query select null::bigint, 'limit';
      return;
    end if;

    insert into numbers (
      workspace_id, mode, phone, label, platform, status, login_method, created_at, callback_url
    )
    values (
      p_workspace, p_mode, p_phone, p_label, p_platform, 'connecting', p_method, p_created_at,
      p_callback_url
    )
    returning id into v_number;
    insert into lanes (number_id, workspace_id, connected)
    values (v_number, p_workspace, false);
    ${insertAttempt("v_number", "null").trimStart()}
    return query select v_number, null::text;
  end
  $function$`,
)

/** The guard that did not hold; null when the attempt has begun. */
export const reconnectLinking = sqlFunction(
  "reconnect_linking",
  `(
    p_workspace bigint, p_number bigint,
    ${parameters.trimStart()}
  )
  returns text
  language plpgsql
  as $function$
  declare
    -- As the attempt keeps it.
    v_before text;
  begin
    if not ${holdClaim.name}(p_key_id, p_key, p_token) then
      return 'idempotency';
    end if;

    perform
    from lanes l
    where l.number_id = p_number
      and l.workspace_id = p_workspace
    for no key update;

    -- A later statement than the lock: it sees all that went before.
    select coalesce(n.phone, '')
    into v_before
    from numbers n
    where n.id = p_number
      and p_phone is not null;

    update numbers n
    set status = 'connecting',
      login_method = p_method,
      phone = coalesce(p_phone, n.phone),
      callback_url = p_callback_url
    where n.id = p_number
      and n.workspace_id = p_workspace
      and n.removed_at is null
      and n.status = 'disconnected';
    if not found then
      return 'number';
    end if;
    ${insertAttempt("p_number", "v_before").trimStart()}
    return null;
  end
  $function$`,
)
