-- The newest ended test message of each workspace that is one too many. Index messages_by_workspace
-- alone tells that a workspace has few; only of one that has many are the messages looked at.
select list.id as workspace_id, first.id
from unnest(:ids) list (id)
cross join lateral (
  select
  from messages m
  where m.workspace_id = list.id
    and m.mode = 'test'
  order by m.id desc
  offset :most
  limit 1
) many
cross join lateral (
  select m.id
  from messages m
  where m.workspace_id = list.id
    and m.mode = 'test'
    and m.state <> 'waiting'
  order by m.id desc
  offset :most
  limit 1
) first
