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
    state, sent_at, error_code, error_message, found_media_type, end_phone
  )
  values (
    false, true, p_event_at, v_position, m_id, m_workspace_id, m_mode, m_number_id, m_platform, m_from_phone,
    m_to_kind, m_to_phone, m_to_name, m_to_contact_id, m_text, m_media_id, m_attachment_id,
    m_media_url, m_media_type, m_media_file_name, m_send_at, m_expires_at, m_created_at, m_due_at,
    m_transport_id, m_callback_url, m_reference, m_state, m_sent_at, m_error_code,
    m_error_message, m_found_media_type, m_end_phone
  );

  return query
  with ended as (
    select
      m_id as id, m_workspace_id as workspace_id, m_mode as mode, 1 as place,
      v_position as event_position,
      p_event_id as event_id, p_event_type as event_type, p_event_at as event_at,
      p_event_body as event_body, p_callback_target as callback_target,
      p_callback_url as callback_url, p_callback_body as callback_body
  ),
  announced as (
    insert into outbox (id, workspace_id, message_id, created_at, event_id, type, mode, body)
    select
      ended.event_position, ended.workspace_id, ended.id, ended.event_at, ended.event_id, ended.event_type, ended.mode,
      ended.event_body
    from ended
    order by ended.place
    returning id, workspace_id, mode, created_at, event_id, type
  ),
  queued as (
    insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type)
    select e.id, announced.id, announced.created_at, announced.event_id, announced.type
    from announced
    join webhook_endpoints e on is_told_of(
      e, announced.workspace_id, announced.mode, announced.type
    )
    returning endpoint_id
  ),
  marked as (
    insert into webhook_marks (lane_id)
    select distinct queued.endpoint_id
    from queued
  ),
  called as (
    insert into webhook_deliveries (
      endpoint_id, outbox_id, workspace_id, url, due_at, event_id, type, body
    )
    select
      callback_lane(ended.workspace_id, ended.callback_target), ended.event_position,
      ended.workspace_id, ended.callback_url, ended.event_at, ended.event_id, ended.event_type,
      ended.callback_body
    from ended
    where ended.callback_url is not null
      -- Asked of these alone: without callbacks nothing is joined.
      and (
        select w.deleted_at is null
        from workspaces w
        where w.id = ended.workspace_id
      )
    order by ended.place
    returning endpoint_id, workspace_id
  ),
  marked_callbacks as (
    insert into webhook_marks (lane_id, workspace_id)
    select distinct called.endpoint_id, called.workspace_id
    from called
  )
  select exists (select from queued) or exists (select from called);
end
$$;
