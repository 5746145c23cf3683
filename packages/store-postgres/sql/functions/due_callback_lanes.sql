-- Due lanes of callbacks other than p_lanes, locked, the longest due first. Each gets one call at least:
-- a workspace with more lanes than room leaves the rest to others.
create function due_callback_lanes(
  p_now timestamptz,
  p_limit integer,
  p_lanes bigint[],
  p_per_workspace integer,
  p_workspaces bigint[],
  p_held integer[]
) returns bigint[]
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_lanes bigint[] := '{}';
  v_found bigint[];
  -- Workspaces at their share, and those that this search found to be.
  v_saturated bigint[] := '{}';
  v_refused bigint[];
begin
  if p_limit <= 0 or p_per_workspace <= 0 then
    return v_lanes;
  end if;
  -- Index webhook_lanes_callbacks_due.
  if cardinality(p_workspaces) > 0 then
    v_saturated := array(
      select workspace.id
      from unnest(p_workspaces, p_held) workspace (id, held)
      where workspace.held >= p_per_workspace
    );
  end if;
  loop
    v_found := v_lanes || array(
      select l.endpoint_id
      from webhook_lanes l
      where l.callback_due <= p_now
        and l.endpoint_id <> all (p_lanes)
        and l.workspace_id <> all (v_saturated)
        and l.endpoint_id <> all (v_lanes)
      order by l.callback_due
      limit p_limit - cardinality(v_lanes)
      for no key update skip locked
    );
    exit when v_found = v_lanes;
    if cardinality(p_workspaces) = 0 and p_limit <= p_per_workspace then
      -- No workspace can get more than its share.
      v_lanes := v_found;
      exit;
    end if;
    -- Each workspace gets what it still may have; while one got less than it has, others may have
    -- more.
    select
      coalesce(array_agg(judged.id order by judged.place) filter (where judged.fits), '{}'),
      array_agg(distinct judged.workspace_id) filter (where not judged.fits)
    into v_lanes, v_refused
    from (
      select
        found.id, found.place, l.workspace_id,
        held_of(l.workspace_id, p_workspaces, p_held)
          + row_number() over (partition by l.workspace_id order by found.place)
          <= p_per_workspace as fits
      from unnest(v_found) with ordinality found (id, place)
      join webhook_lanes l on l.endpoint_id = found.id
    ) judged;
    exit when v_refused is null;
    v_saturated := v_saturated || v_refused;
  end loop;
  return v_lanes;
end
$$;
