-- Index lanes_orphaned, then messages_waiting.
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
  ) as phone
from lanes l
cross join lateral (
  select *
  from messages w
  where w.number_id = l.number_id
    and w.state = 'waiting'
    and not is_in_flight(w, l)
  limit :limit
) m
where l.orphaned
limit :limit
