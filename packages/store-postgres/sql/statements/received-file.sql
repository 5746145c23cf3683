-- Files of received messages.

-- name: find
-- Never null: state
select
  shown.file ->> 'state' as state, m.id, m.workspace_id, m.mode, m.file_name, m.type, m.mime_type, m.size,
  m.storage_key, m.created_at
from received_messages r
cross join lateral shown_received(r) shown
left join received_files f on f.received_message_id = r.id
left join media_files m on m.id = f.media_id
  and shown.file ->> 'state' = 'ready'
where r.id = :id
  and shown.file is not null

-- name: request
update received_files f
set next_due = least(f.next_due, :now),
  wanted_at = coalesce(f.wanted_at, :now)
from received_messages r
cross join lateral shown_received(r) shown
where f.received_message_id = :id
  and f.source is not null
  and f.lease_until is null
  and r.id = f.received_message_id
returning f.received_message_id
