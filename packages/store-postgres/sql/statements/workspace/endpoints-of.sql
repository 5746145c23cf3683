-- Index webhook_endpoints_ever_by_workspace.
select e.id, e.workspace_id
from webhook_endpoints e
where e.workspace_id = any (:ids)
order by e.id
