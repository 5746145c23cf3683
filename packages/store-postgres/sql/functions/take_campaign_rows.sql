-- Takes rows on: the acceptance of their messages, the mark of each row, those that are refused, and when to look
-- again, in one commit. The parameters of the acceptance are for a single row, or empty when all rows are refused.
-- Returns the broken guard, or null and the ids of the messages.
--
-- Locks: the campaign, which guards its rows; then those of an acceptance (their holders never ask for a campaign):
-- its lane first, which guards the queue.
create function take_campaign_rows(
  c_id bigint,
  c_revision bigint,
  c_now timestamptz,
  c_queue_limit integer,
  c_look_at timestamptz,
  c_awaits bigint[],
  c_awaits_room bigint[],
  c_awaits_given_back integer[],
  c_awaits_allowance boolean,
  t_row integer[],
  t_phone text[],
  r_row integer[],
  r_code text[],
  r_field text[],
  r_first_row integer[],
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
) returns table (guard text, ids bigint[])
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_last_row integer;
begin
  perform set_config('lock_timeout', p_lock_timeout || 'ms', true);
  select c.last_row
  into v_last_row
  from campaigns c
  where c.id = c_id
    and c.revision = c_revision
    and c.state = 'running'
    and c.removed_at is null
  for no key update;
  if not found then
    guard := 'campaign';
    return next;
    return;
  end if;

  -- A later statement than the lock.
  if cardinality(t_row) + cardinality(r_row) > (
    select count(*)
    from campaign_rows r
    where r.campaign_id = c_id
      and r.row = any (t_row || r_row)
      and r.row <= v_last_row
      and r.state = 'pending'
  ) then
    guard := 'rows';
    return next;
    return;
  end if;

  ids := '{}';
  if cardinality(p_now) > 0 then
    perform
    from lanes l
    where l.number_id = p_number[1]
    for update;
    -- A later statement: what others sent since the look waits too. Index messages_waiting.
    if cardinality(t_row) + (
      select count(*)
      from (
        select
        from messages m
        where m.number_id = p_number[1]
          and m.mode = case when p_live[1] then 'live' else 'test' end
          and m.state = 'waiting'
          and m.due_at <= c_now
        limit c_queue_limit
      ) queue
    ) > c_queue_limit then
      guard := 'queue';
      return next;
      return;
    end if;
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
    update campaign_rows r
    set state = 'taken',
      message_id = taken.message_id,
      number_id = p_number[1],
      taken_on_at = c_now,
      phone = taken.phone,
      row_values = null
    from unnest(t_row, t_phone, ids) taken (row, phone, message_id)
    where r.campaign_id = c_id
      and r.row = taken.row;
    update campaign_rows r
    set state = 'refused',
      code = refused.code,
      field = refused.field,
      first_row = refused.first_row
    from unnest(r_row, r_code, r_field, r_first_row) refused (row, code, field, first_row)
    where r.campaign_id = c_id
      and r.row = refused.row;
    update campaigns c
    set pending = c.pending - cardinality(t_row) - cardinality(r_row),
      refused = c.refused + cardinality(r_row),
      look_at = look_after(c, c_look_at, c_now),
      woken_at = null,
      looked_at = c_now,
      awaits = c_awaits,
      awaits_room = c_awaits_room,
      awaits_given_back = c_awaits_given_back,
      awaits_allowance = c_awaits_allowance,
      turn = default
    where c.id = c_id;
  end if;
  return next;
end
$$;
