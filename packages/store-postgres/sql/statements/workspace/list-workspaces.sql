select w.id, w.retention_days, w.deleted_at
from workspaces w
where w.id > :after
  and w.erased_at is null
order by w.id
limit :limit
