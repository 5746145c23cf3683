select
  coalesce(m.workspace_id, r.workspace_id) as "workspaceId",
  coalesce(m.count, 0) as messages,
  coalesce(r.count, 0) as reminders
from (
  select l.workspace_id, count(*) as count
  from lanes l
  cross join lateral (
  select m.*
  from unnest('{live,test}'::text[]) modes (mode)
  cross join lateral (
    select *
    from messages held
    where held.number_id = l.number_id
      and held.mode = modes.mode
      and held.state = 'waiting'
      and is_held(held)
      
  ) m) held
  where l.removed_at is null
  group by l.workspace_id
) m
full join (
  select r.workspace_id, count(*) as count
  from reminders r
  where r.held_run_at is not null
  group by r.workspace_id
) r on r.workspace_id = m.workspace_id
order by 1
