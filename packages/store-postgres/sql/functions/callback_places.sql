-- How many may be taken from each of these lanes, in their order; null for that of an endpoint. The
-- lane that has waited longest has the first choice.
create function callback_places(
  p_now timestamptz,
  p_lanes bigint[],
  p_settled bigint[],
  p_per_target integer,
  p_callbacks integer,
  p_per_workspace integer,
  p_workspaces bigint[],
  p_held integer[]
) returns integer[]
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  return (with wants as (
    select
      l.endpoint_id, l.workspace_id, ahead.wanted, ahead.first_due,
      p_per_workspace - held_of(l.workspace_id, p_workspaces, p_held) as room
    from webhook_lanes l
    cross join lateral (
      select coalesce(array_agg(held.id), '{}') as ids
      from unnest(l.held_ids, l.held_until) held (id, lease_until)
      where is_leased(held.lease_until, p_now)
        and held.id <> all (p_settled)
    ) live
    cross join lateral (
      select count(*) as wanted, min(next.due_at) as first_due
      from (
        -- Index webhook_deliveries_due.
        select d.due_at
        from webhook_deliveries d
        where d.endpoint_id = l.endpoint_id
          and d.id <> all (live.ids)
          and d.due_at <= p_now
        order by d.due_at, d.id
        limit greatest(0, p_per_target - cardinality(live.ids))
      ) next
    ) ahead
    where l.endpoint_id = any (p_lanes)
      and l.endpoint_id < 0
  ),
  of_workspace as (
    select
      w.endpoint_id, w.first_due,
      greatest(0, least(w.wanted, w.room - coalesce(sum(w.wanted) over (
        partition by w.workspace_id
        order by w.first_due, w.endpoint_id
        rows between unbounded preceding and 1 preceding
      ), 0))) as wanted
    from wants w
  ),
  of_all as (
    select
      w.endpoint_id,
      greatest(0, least(w.wanted, p_callbacks - coalesce(sum(w.wanted) over (
        order by w.first_due, w.endpoint_id
        rows between unbounded preceding and 1 preceding
      ), 0)))::integer as places
    from of_workspace w
  )
  select array_agg(of_all.places order by lane.place)
  from unnest(p_lanes) with ordinality lane (id, place)
  left join of_all on of_all.endpoint_id = lane.id);
end
$$;
