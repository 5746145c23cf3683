-- name: insert
insert into contacts (workspace_id, name, phone, username, created_at)
values (:workspaceId, :name, :phone, :username, :createdAt)
returning id

-- name: list
-- Index contacts_by_workspace.
select c.id, c.workspace_id, c.name, c.phone, c.username, c.created_at
from contacts c
where c.workspace_id = :workspaceId
  and c.id < :before
order by c.id desc
limit :limit

-- name: delete
delete from contacts c
where c.id = :id
  and c.workspace_id = :workspaceId
returning c.id
