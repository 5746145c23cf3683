select removed.count
from remove_webhook_endpoints(
  array(select e.id from webhook_endpoints e where e.workspace_id = :workspaceId
  and (:mode::text is null or e.mode = :mode)
  and e.removed_at is null and e.id = :id), :now
) removed (count)
where removed.count = 1
