-- Writes a check with its results; returns the guard that did not hold, or null and the check's id.
--
-- Locks: the claim, and nothing else: a number that is removed at this very moment leaves a check that
-- fails, like any that was made before.
create function insert_number_check(
  p_workspace bigint,
  p_mode text,
  p_number bigint,
  p_name text,
  p_phones text[],
  p_now timestamptz,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text
) returns table (guard text, id bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return query select 'idempotency', null::bigint;
    return;
  end if;
  perform
  from lanes l
  where l.number_id = p_number
    and l.workspace_id = p_workspace
    and l.removed_at is null;
  if not found then
    return query select 'number', null::bigint;
    return;
  end if;

  insert into number_checks (
    workspace_id, mode, number_id, name, created_at, next_due, status, total, checked, registered,
    not_registered, lease, tries
  )
  values (
    p_workspace, p_mode, p_number, p_name, p_now, p_now, 'pending', cardinality(p_phones), 0, 0, 0,
    0, 0
  )
  returning number_checks.id into v_id;
  -- Ids are given out in the order of the list.
  insert into number_check_results (check_id, phone, status)
  select v_id, asked.phone, 'pending'
  from unnest(p_phones) with ordinality asked (phone, place)
  order by asked.place;
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, array[v_id], p_now, null
  );
  return query select null::text, v_id;
end
$$;
