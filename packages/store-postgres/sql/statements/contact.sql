-- name: insert
-- An update that changes nothing locks the present row and returns it. Only a new row has no xmax.
-- Never null: id, isNew
insert into contacts as present (workspace_id, name, phone, username, address, created_at)
values (:workspaceId, :name, :phone, :username, :address, :createdAt)
on conflict (workspace_id, address) do update
set address = present.address
returning present.id, present.xmax = 0 as "isNew"

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
