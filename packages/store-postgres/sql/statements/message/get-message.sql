select
  m.id, m.workspace_id, m.mode, m.number_id, m.platform, m.from_phone, m.to_kind, m.to_phone,
  m.to_name, m.to_contact_id, m.text, m.media_id, m.attachment_id, m.media_url, m.media_type,
  m.media_file_name, m.send_at, m.expires_at, m.created_at,
  planned_time(m.due_at, m.send_at, m.created_at) as due_at, m.transport_id, m.callback_url,
  m.state, m.sent_at, m.error_code, m.error_message, m.found_media_type,
  shown_phone(
    m.state,
    (select sender.phone from numbers sender where sender.id = m.number_id),
    m.end_phone, m.from_phone
  ) as phone,
  is_in_flight(m, l) as in_flight
from messages m
left join lanes l on l.number_id = m.number_id
where m.id = :id
  and m.workspace_id = :workspaceId
  and m.mode = :mode
  and (:restriction::bigint[] is null or m.number_id = any (:restriction))
