-- A reminder's run: the acceptance of its message and its advance to the next due time, in one commit.
-- The parameters of the acceptance are for a single message. The claim of a run that was asked for becomes the
-- record of its line in the log.
--
-- Locks: that claim, the reminder, then those of an acceptance, which are waited for no longer than its lock timeout
-- says. No holder of one of these asks for a reminder.
create function run_reminder(
  r_id bigint,
  r_revision bigint,
  r_due_at timestamptz,
  r_ran_at timestamptz,
  r_next_run_at timestamptz,
  r_claim_key_id bigint,
  r_claim_key text,
  r_claim_fingerprint text,
  r_claim_token text,
  p_now timestamptz[],
  p_workspace bigint[],
  p_number bigint[],
  p_live boolean[],
  p_count integer[],
  p_due_at timestamptz[],
  p_allowance integer[],
  p_quota_at timestamptz[],
  p_quota_count integer[],
  p_quota_limit integer[],
  p_quota_window_millis bigint[],
  p_claim_key_id bigint[],
  p_claim_key text[],
  p_claim_fingerprint text[],
  p_claim_token text[],
  m_acceptance integer[],
  m_platform text[],
  m_from_phone text[],
  m_to_kind text[],
  m_to_phone text[],
  m_to_name text[],
  m_to_contact_id bigint[],
  m_text text[],
  m_media_id bigint[],
  m_attachment_id bigint[],
  m_media_url text[],
  m_media_type text[],
  m_media_file_name text[],
  m_send_at timestamptz[],
  m_expires_at timestamptz[],
  m_created_at timestamptz[],
  m_due_at timestamptz[],
  m_transport_id text[],
  m_callback_url text[],
  m_reference text[],
  m_campaign_id bigint[],
  m_campaign_row integer[],
  m_to_chat_id bigint[],
  m_to_address text[],
  m_reply_received_id bigint[],
  m_reply_message_id bigint[],
  p_lock_timeout integer
) returns table (guard text, ids bigint[], run_id bigint)
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
  perform
  from reminders r
  where r.id = r_id
    and r.revision = r_revision
    and r.removed_at is null
  for no key update;
  if not found then
    guard := 'reminder';
  else
    select a.guard, a.ids
    into guard, ids
    from accept_messages(
      p_now, p_workspace, p_number, p_live, p_count, p_due_at, p_allowance, p_quota_at,
      p_quota_count, p_quota_limit, p_quota_window_millis, p_claim_key_id, p_claim_key,
      p_claim_fingerprint, p_claim_token, m_acceptance, m_platform, m_from_phone, m_to_kind,
      m_to_phone, m_to_name, m_to_contact_id, m_text, m_media_id, m_attachment_id, m_media_url,
      m_media_type, m_media_file_name, m_send_at, m_expires_at, m_created_at, m_due_at,
      m_transport_id, m_callback_url, m_reference, m_campaign_id, m_campaign_row, m_to_chat_id,
      m_to_address, m_reply_received_id, m_reply_message_id, p_lock_timeout
    ) a;
  end if;

  if guard is null then
    update reminders r
    set next_run_at = r_next_run_at,
      revision = r.revision + 1,
      previous_number_id = p_number[1]
    where r.id = r_id;
    insert into reminder_runs (reminder_id, due_at, ran_at, message_id, outcome)
    values (r_id, r_due_at, r_ran_at, ids[1], 'accepted')
    returning id into run_id;
    perform finish_idempotency_claim(
      r_claim_key_id, r_claim_key, r_claim_fingerprint, array[run_id], r_ran_at, null
    );
  end if;
  return next;
end
$$;
