-- Or no event.
create function redeliver_webhook_event(
  p_workspace_id bigint,
  p_mode text,
  p_id bigint,
  p_event_id text,
  p_now timestamptz
) returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_state constant text := lock_webhook_endpoint(p_workspace_id, p_mode, p_id);
  v_event record;
  v_replaced bigint[];
begin
  if v_state <> 'running' then
    return v_state;
  end if;

  -- Index outbox_by_event_id.
  select o.id as outbox_id, o.type, null::text as body
  into v_event
  from outbox o
  join webhook_endpoints e on e.id = p_id
  where o.event_id collate "C" = p_event_id
    and can_be_redelivered(o, e)
  -- Its erasure waits, and then sees this delivery.
  for key share of o;
  if not found then
    -- Index webhook_attempts_of_pings. A ping is in no outbox; its attempts keep its body.
    select null::bigint as outbox_id, a.type, a.body
    into v_event
    from webhook_attempts a
    where a.event_id collate "C" = p_event_id
      and a.endpoint_id = p_id
      and a.type = 'ping'
    limit 1;
  end if;
  if not found then
    return 'no event';
  end if;

  with replaced as (
    delete from webhook_deliveries d
    where d.endpoint_id = p_id
      and d.event_id = p_event_id
    returning d.id, d.last_attempt_id
  ),
  forgotten as (
    update webhook_attempts a
    set next_attempt_at = null
    from replaced
    where a.id = replaced.last_attempt_id
  )
  select coalesce(array_agg(replaced.id), '{}')
  into v_replaced
  from replaced;

  insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type, body)
  values (p_id, v_event.outbox_id, p_now, p_event_id, v_event.type, v_event.body);

  update webhook_lanes l
  set next_due = least(l.next_due, p_now),
    held_ids = rest.ids,
    held_leases = rest.leases,
    held_until = rest.until
  from webhook_lanes before
  cross join lateral (
    select
      coalesce(array_agg(held.id), '{}') as ids,
      coalesce(array_agg(held.lease), '{}') as leases,
      coalesce(array_agg(held.until), '{}') as until
    from unnest(before.held_ids, before.held_leases, before.held_until) held (id, lease, until)
    where held.id <> all (v_replaced)
  ) rest
  where before.endpoint_id = p_id
    and l.endpoint_id = p_id;
  return v_event.type;
end
$$;
