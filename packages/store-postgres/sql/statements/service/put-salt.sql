update workspaces w
set callback_salt = :salt
where w.id = :workspaceId
  and w.deleted_at is null
returning w.id
