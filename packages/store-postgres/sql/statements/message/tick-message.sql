-- Locks the message alone, and so tells how it really stands; neither lane nor workspace matter.
with known as materialized (
  select *
  from messages m
  where m.transport_id = :transportId
    and m.number_id = :numberId
  limit 1
  for no key update
),
moved as (
  update messages m
  set state = :state
  from known
  where m.id = known.id
    and known.state = any (:from)
  returning
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
)
select *
from moved
union all
select
  known.id, known.workspace_id, known.mode, known.number_id, known.platform, known.from_phone,
  known.to_kind, known.to_phone, known.to_name, known.to_contact_id, known.text, known.media_id,
  known.attachment_id, known.media_url, known.media_type, known.media_file_name, known.send_at,
  known.expires_at, known.created_at,
  planned_time(known.due_at, known.send_at, known.created_at) as due_at, known.transport_id,
  known.callback_url, known.state, known.sent_at, known.error_code, known.error_message,
  known.found_media_type,
  shown_phone(
    known.state,
    (select sender.phone from numbers sender where sender.id = known.number_id),
    known.end_phone, known.from_phone
  ) as phone
from known
where known.state <> all (:from)
