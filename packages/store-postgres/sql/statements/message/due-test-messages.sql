-- Index messages_test_due_of_workspace, in its words: from one workspace with waiting test messages to the
-- next, and of each the first that are due. What one of them has beyond its share is not read.
with recursive owner (id) as (
  (
    select m.workspace_id
    from messages m
    where is_waiting(m)
      and m.mode = 'test'
    order by m.workspace_id
    limit 1
  )
  union all
  select (
    select m.workspace_id
    from messages m
    where is_waiting(m)
      and m.mode = 'test'
      and m.workspace_id > owner.id
    order by m.workspace_id
    limit 1
  )
  from owner
  where owner.id is not null
)
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
from owner
cross join lateral (
  select *
  from messages m
  where is_waiting(m)
    and m.mode = 'test'
    and m.workspace_id = owner.id
    and m.due_at <= :now
    and not_expired(m, :now)
    and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and (l.removed_at is not null or l.disabled)
  )
  order by m.due_at, m.id
  limit least(:perWorkspace::integer, :limit::integer)
) m
order by m.due_at, m.id
limit :limit
