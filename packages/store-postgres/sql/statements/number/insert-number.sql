-- Makes the number and its lane. The workspace's row is locked against deletion meanwhile; a number
-- made in a workspace that is deleted already counts as removed from the start.
with workspace as (
  select w.id, w.deleted_at, w.account_disabled
  from workspaces w
  where w.id = :workspace_id
  for share
),
number as (
  insert into numbers (
    workspace_id, mode, phone, label, platform, status, login_method, created_at, removed_at
  )
  select
    :workspace_id, :mode, :phone, :label, :platform, :status, :login_method, :created_at,
    workspace.deleted_at
  from workspace
  returning *
),
lane as (
  insert into lanes (number_id, workspace_id, connected, removed_at, pacing, disabled)
  select
    number.id, number.workspace_id,
    number.status = 'connected' and number.removed_at is null, number.removed_at, :pacing,
    workspace.account_disabled and workspace.deleted_at is null
  from number
  cross join workspace
)
select
  number.id, number.workspace_id, number.mode, number.phone, number.label, number.platform,
  number.status, number.login_method, number.created_at
from number
