-- name: get
select
  c.groups, c.retention_days, c.media, c.max_file_bytes, c.max_storage_bytes, c.hold_new_chats, c.since
from conversation_settings c
join workspaces w on w.id = c.workspace_id
where c.workspace_id = :workspaceId
  and w.deleted_at is null

-- name: delete
delete from conversation_settings c
using workspaces w
where c.workspace_id = :workspaceId
  and w.id = c.workspace_id
  and w.deleted_at is null
returning c.workspace_id
