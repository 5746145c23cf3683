-- What running campaigns of a workspace wait for has changed: they are looked at now. A look that is under way, and
-- read what was before, does not put that off.
--
-- Locks: the campaigns by id, before any lane.
create function look_at_campaigns(p_workspace bigint, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  -- Index campaigns_running.
  perform
  from campaigns c
  where c.workspace_id = p_workspace
    and c.state = 'running'
    and c.removed_at is null
  order by c.id
  for no key update;
  if not found then
    return;
  end if;

  update campaigns c
  set look_at = p_now,
    woken_at = p_now
  where c.workspace_id = p_workspace
    and c.state = 'running'
    and c.removed_at is null;
end
$$;
