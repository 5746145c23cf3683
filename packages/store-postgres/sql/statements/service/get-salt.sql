select w.callback_salt
from workspaces w
where w.id = :workspaceId
  and w.deleted_at is null
