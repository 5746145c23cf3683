update reminders r
set removed_at = :now,
  next_run_at = null,
  held_run_at = null
where r.id = :id
  and r.workspace_id = :workspaceId
  and (:mode::text is null or r.mode = :mode)
  and (:restriction::bigint[] is null or r.number_id = any (:restriction))
  and r.removed_at is null
returning r.id
