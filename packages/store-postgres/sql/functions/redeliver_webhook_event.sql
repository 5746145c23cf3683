-- Queues an event once more with attempt 1, in place of its delivery that waits. One in flight ends by itself.
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
  v_in_flight bigint[];
begin
  if v_state <> 'running' then
    return v_state;
  end if;

  select l.held_ids
  into v_in_flight
  from webhook_lanes l
  where l.endpoint_id = p_id;

  -- Index outbox_by_event_id alone: together with that of the workspace all its events would be read.
  select o.id as outbox_id, o.type, null::text as body
  into v_event
  from (
    select named.id
    from outbox named
    where named.event_id collate "C" = p_event_id
    offset 0
  ) found
  join outbox o on o.id = found.id
  join webhook_endpoints e on e.id = p_id
  where can_be_redelivered(o, e)
    and (is_message_event(o.type) or has_conversations(p_workspace_id))
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

  -- A call in flight keeps its place and is logged. What waits goes.
  update webhook_deliveries d
  set replaced_at = p_now
  where d.endpoint_id = p_id
    and d.event_id = p_event_id
    and d.id = any (v_in_flight);

  with waiting as (
    delete from webhook_deliveries d
    where d.endpoint_id = p_id
      and d.event_id = p_event_id
      and d.id <> all (v_in_flight)
    returning d.last_attempt_id
  )
  update webhook_attempts a
  set next_attempt_at = null
  from waiting
  where a.id = waiting.last_attempt_id;

  insert into webhook_deliveries (
    endpoint_id, outbox_id, due_at, event_id, type, body, beside_received
  )
  select
    e.id, v_event.outbox_id, p_now, p_event_id, v_event.type, v_event.body,
    is_beside_received(e, v_event.type)
  from webhook_endpoints e
  where e.id = p_id;

  update webhook_lanes l
  set next_due = least(l.next_due, p_now)
  where l.endpoint_id = p_id;
  return v_event.type;
end
$$;
