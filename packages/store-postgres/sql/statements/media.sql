-- name: newestStorageKey
-- The key of the newest file that is in the directory. From the newest record on, by the primary key.
select m.storage_key
from media_files m
where m.state in ('kept', 'attached')
order by m.id desc
limit 1

-- name: discard
-- The file leaves the directory, and its room is free again.
with ended as (
  update media_files m
  set state = 'discarded'
  where m.id = :id
    and m.state = 'reserved'
  returning m.*
),
freed as (
  update media_usage u
  set bytes = u.bytes - ended.size
  from ended
  where u.workspace_id = ended.workspace_id
)
select
  ended.id, ended.workspace_id, ended.mode, ended.file_name, ended.type, ended.mime_type,
  ended.size, ended.storage_key, ended.created_at
from ended

-- name: delete
-- The file leaves the directory, and its room is free again.
with ended as (
  update media_files m
  set state = 'deleted'
  where m.id = :id
    and m.workspace_id = :workspaceId
    and m.mode = :mode
    and m.state = 'kept'
  returning m.*
),
freed as (
  update media_usage u
  set bytes = u.bytes - ended.size
  from ended
  where u.workspace_id = ended.workspace_id
)
select
  ended.id, ended.workspace_id, ended.mode, ended.file_name, ended.type, ended.mime_type,
  ended.size, ended.storage_key, ended.created_at
from ended

-- name: get
select
  m.id, m.workspace_id, m.mode, m.file_name, m.type, m.mime_type, m.size, m.storage_key,
  m.created_at
from media_files m
where m.id = :id
  and m.workspace_id = :workspaceId
  and m.mode = :mode
  and m.state = 'kept'

-- name: list
-- Index media_files_kept.
select
  m.id, m.workspace_id, m.mode, m.file_name, m.type, m.mime_type, m.size, m.storage_key,
  m.created_at
from media_files m
where m.workspace_id = :workspaceId
  and m.mode = :mode
  and m.state = 'kept'
  and m.id < :before
order by m.id desc
limit :limit

-- name: listOfType
-- Index media_files_by_type.
select
  m.id, m.workspace_id, m.mode, m.file_name, m.type, m.mime_type, m.size, m.storage_key,
  m.created_at
from media_files m
where m.workspace_id = :workspaceId
  and m.mode = :mode
  and m.state = 'kept'
  and m.type = :type
  and m.id < :before
order by m.id desc
limit :limit

-- name: find
-- Never null: deleted
select
  m.id, m.workspace_id, m.mode, m.file_name, m.type, m.mime_type, m.size, m.storage_key,
  m.created_at, m.state = 'deleted' as deleted
from media_files m
where m.id = :id
  and m.state in ('kept', 'attached', 'deleted')

-- name: missing
select asked.id
from unnest(:ids::bigint[]) asked (id)
where not exists (
  select
  from media_files m
  where m.id = asked.id
    and is_file_there(m)
)

-- name: detach
-- Index messages_with_attachment.
update media_files m
set state = 'discarded'
where m.id = :id
  and m.state = 'attached'
  and not exists (
    select
    from messages has
    where has.attachment_id = m.id
  )
returning m.id

-- name: sweepAttachments
-- The records of attachments: files in a state of their own, which neither the directory nor the
-- count of its room knows. Only this sweep touches one that a message has.
--
-- Indexes media_files_attached and messages_with_attachment. Files that another sweep holds are left
-- to it; all are locked in the order of their ids.
with seen as materialized (
  select
    m.id,
    held.used,
    is_unneeded(m, held.used, held.gone, :unusedSince) as ended
  from media_files m
  cross join lateral (
    select
      exists (select from waiting_for_attachment(m.id)) as used,
      exists (select from deleted_workspace(m.workspace_id)) as gone
  ) held
  where m.state = 'attached'
    and is_swept(m, held.used, held.gone, :unusedSince)
  order by m.id
  for no key update of m skip locked
)
update media_files m
set unused_since = unused_since_after(m, seen.used, :now),
  state = case when seen.ended then 'deleted' else m.state end
from seen
where m.id = seen.id
  and m.state = 'attached'

-- name: removed
update media_files m
set has_bytes = false
where m.id = any (:ids)
  and is_file_ended(m)

-- name: forget
-- Index media_files_remembered.
delete from media_files gone
where gone.id in (
  select m.id
  from media_files m
  where m.created_at < :createdBefore
    and is_file_ended(m)
    and not m.has_bytes
  limit :limit
)
returning gone.id
