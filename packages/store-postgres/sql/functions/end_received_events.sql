-- Erases the events of received messages, and those at these positions, and ends their deliveries.
--
-- Locks: the lanes of their workspaces' endpoints by id, then the events by id, so that no delivery refers to one
-- that goes: a redelivery takes them in this order too.
create function end_received_events(p_received bigint[], p_positions bigint[]) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_events bigint[];
  v_workspaces bigint[];
  v_deliveries bigint[];
  v_lanes bigint[];
begin
  -- Index outbox_by_received_message.
  select array_agg(o.id), array_agg(distinct o.workspace_id)
  into v_events, v_workspaces
  from outbox o
  where o.received_message_id = any (p_received)
    or o.id = any (p_positions);
  if v_events is null then
    return;
  end if;
  perform
  from webhook_lanes l
  where l.endpoint_id in (
    select e.id
    from webhook_endpoints e
    where e.workspace_id = any (v_workspaces)
      and e.removed_at is null
  )
  order by l.endpoint_id
  for no key update;
  perform
  from outbox o
  where o.id = any (v_events)
  order by o.id
  for update;

  with ended as (
    -- Index webhook_deliveries_of_received.
    delete from webhook_deliveries d
    where d.outbox_id = any (v_events)
      and is_received_event(d.type)
    returning d.id, d.endpoint_id, d.last_attempt_id
  ),
  unscheduled as (
    update webhook_attempts a
    set next_attempt_at = null
    from ended
    where a.id = ended.last_attempt_id
  )
  select array_agg(ended.id), array_agg(distinct ended.endpoint_id)
  into v_deliveries, v_lanes
  from ended;
  if v_lanes is not null then
    update webhook_lanes l
    set held_ids = left_over.ids,
      held_leases = left_over.leases,
      held_until = left_over.until,
      next_due = least(
        left_over.first_until,
        (
          -- Index webhook_deliveries_due.
          select d.due_at
          from webhook_deliveries d
          where d.endpoint_id = l.endpoint_id
            and d.id <> all (left_over.ids)
          order by d.due_at, d.id
          limit 1
        )
      )
    from webhook_lanes before
    cross join lateral (
      select
        coalesce(array_agg(held.id), '{}') as ids,
        coalesce(array_agg(held.lease), '{}') as leases,
        coalesce(array_agg(held.lease_until), '{}') as until,
        min(held.lease_until) as first_until
      from unnest(before.held_ids, before.held_leases, before.held_until) held (id, lease, lease_until)
      where held.id <> all (v_deliveries)
    ) left_over
    where l.endpoint_id = any (v_lanes)
      and before.endpoint_id = l.endpoint_id;
  end if;

  delete from outbox o
  where o.id = any (v_events);
end
$$;
