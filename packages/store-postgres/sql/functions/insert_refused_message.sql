-- Writes a message that was refused, as it has ended. Its event names its id, so the id is drawn
-- first; one that is drawn for nothing leaves a harmless gap. Whether deliveries were queued; no row
-- when the number is gone.
--
-- Locks: the lane, so that neither number nor workspace go meanwhile; the lane stays as it is.
create function insert_refused_message(
  m_id bigint,
  m_workspace_id bigint,
  m_mode text,
  m_number_id bigint,
  m_platform text,
  m_from_phone text,
  m_to_kind text,
  m_to_phone text,
  m_to_name text,
  m_to_contact_id bigint,
  m_text text,
  m_media_id bigint,
  m_attachment_id bigint,
  m_media_url text,
  m_media_type text,
  m_media_file_name text,
  m_send_at timestamptz,
  m_expires_at timestamptz,
  m_created_at timestamptz,
  m_due_at timestamptz,
  m_transport_id text,
  m_callback_url text,
  m_reference text,
  m_to_chat_id bigint,
  m_to_address text,
  m_reply_received_id bigint,
  m_reply_message_id bigint,
  m_state text,
  m_sent_at timestamptz,
  m_error_code text,
  m_error_message text,
  m_found_media_type text,
  m_end_phone text,
  p_event_id text,
  p_event_type text,
  p_event_at timestamptz,
  p_event_body text,
  p_callback_target text,
  p_callback_url text,
  p_callback_body text
) returns table (queued boolean)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_position bigint;
begin
  perform
  from lanes l
  where l.number_id = m_number_id
    and l.workspace_id = m_workspace_id
    and l.removed_at is null
  for no key update;
  if not found then
    return;
  end if;

  v_position := nextval('outbox_id_seq');
  insert into messages (
    allowance_taken, refused, ended_at, event_position, id, workspace_id, mode, number_id, platform, from_phone,
    to_kind, to_phone, to_name, to_contact_id, text, media_id, attachment_id, media_url, media_type,
    media_file_name, send_at, expires_at, created_at, due_at, transport_id, callback_url, reference,
    to_chat_id, to_address, reply_received_id, reply_message_id, state, sent_at, error_code, error_message,
    found_media_type, end_phone
  )
  values (
    false, true, p_event_at, v_position, m_id, m_workspace_id, m_mode, m_number_id, m_platform, m_from_phone,
    m_to_kind, m_to_phone, m_to_name, m_to_contact_id, m_text, m_media_id, m_attachment_id,
    m_media_url, m_media_type, m_media_file_name, m_send_at, m_expires_at, m_created_at, m_due_at,
    m_transport_id, m_callback_url, m_reference, m_to_chat_id, m_to_address, m_reply_received_id,
    m_reply_message_id, m_state, m_sent_at, m_error_code,
    m_error_message, m_found_media_type, m_end_phone
  );

  queued := announce(array[
    (
      v_position, m_id, m_workspace_id, m_mode, p_event_id, p_event_type, p_event_at,
      p_event_body, p_callback_target, p_callback_url, p_callback_body, null
    )::announcement
  ]);
  return next;
end
$$;
