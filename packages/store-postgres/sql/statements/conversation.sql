-- name: get
-- Indexes received_counters_by_workspace, media_files_received_bytes and received_messages_by_workspace.
-- Never null: stored, bytes
select
  c.groups, c.retention_days, c.media, c.max_file_bytes, c.max_storage_bytes, c.hold_new_chats, c.since,
  (
    select coalesce(sum(counted.stored), 0)::bigint
    from received_counters counted
    where counted.workspace_id = :workspaceId
  ) as stored,
  (select used.bytes from received_bytes(:workspaceId) used) as bytes,
  (
    select min(oldest.received_at)
    from unnest(array['live', 'test']) m (mode)
    cross join lateral (
      select r.received_at
      from received_messages r
      where r.workspace_id = :workspaceId
        and r.mode = m.mode
      order by r.id
      limit 1
    ) oldest
  ) as oldest_at
from conversation_settings c
join workspaces w on w.id = c.workspace_id
where c.workspace_id = :workspaceId
  and w.deleted_at is null

-- name: any
-- Never null: answer
select exists (select from conversation_settings) as answer
