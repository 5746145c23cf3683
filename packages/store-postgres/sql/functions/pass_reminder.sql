-- A reminder's advance without a message, with its line in the log unless the outcome is null. The claim
-- of a run that was asked for becomes the record of that line.
--
-- Locks: that claim, the reminder.
create function pass_reminder(
  r_id bigint,
  r_revision bigint,
  r_due_at timestamptz,
  r_ran_at timestamptz,
  r_next_run_at timestamptz,
  r_claim_key_id bigint,
  r_claim_key text,
  r_claim_fingerprint text,
  r_claim_token text,
  p_outcome text,
  p_code text
) returns table (guard text, run_id bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  if not hold_idempotency_claim(r_claim_key_id, r_claim_key, r_claim_token) then
    guard := 'idempotency';
    return next;
    return;
  end if;
  update reminders r
  set next_run_at = r_next_run_at,
    -- An operator asked for a refused run: what is held stays held.
    held_run_at = case when p_outcome = 'refused' then r.held_run_at end,
    revision = r.revision + 1
  where r.id = r_id
    and r.revision = r_revision
    and r.removed_at is null;
  if not found then
    guard := 'reminder';
  elsif p_outcome is not null then
    insert into reminder_runs (reminder_id, due_at, ran_at, outcome, code)
    values (r_id, r_due_at, r_ran_at, p_outcome, p_code)
    returning id into run_id;
    perform finish_idempotency_claim(
      r_claim_key_id, r_claim_key, r_claim_fingerprint, array[run_id], r_ran_at, null
    );
  end if;
  return next;
end
$$;
