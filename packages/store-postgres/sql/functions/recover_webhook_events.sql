-- Queues events of the outbox once more, oldest first: those that are not pending, and those that failed and
-- wait for their next attempt, which begin again with attempt 1. It leaves what is in flight, due for the
-- first time, or delivered by an attempt after p_seen. A lane's attempts get their ids while it is locked, so no smaller
-- one is written later.
--
-- Locks: the lane, then the events: their erasure waits and then sees these deliveries.
--
-- Never null: queued
create function recover_webhook_events(
  p_workspace_id bigint,
  p_mode text,
  p_id bigint,
  p_positions bigint[],
  p_seen bigint,
  p_now timestamptz
) returns table (state text, queued integer)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_hears constant boolean = has_conversations(p_workspace_id);
begin
  state := lock_webhook_endpoint(p_workspace_id, p_mode, p_id);
  queued := 0;
  if state <> 'running' then
    return next;
    return;
  end if;

  with waiting as (
    delete from webhook_deliveries d
    where d.endpoint_id = p_id
      and d.outbox_id = any (p_positions)
      and d.attempts > 0
      and d.replaced_at is null
      and d.id <> all (array(
        select unnest(l.held_ids)
        from webhook_lanes l
        where l.endpoint_id = p_id
      ))
    returning d.last_attempt_id
  )
  update webhook_attempts a
  set next_attempt_at = null
  from waiting
  where a.id = waiting.last_attempt_id;

  insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type, beside_received)
  select p_id, again.id, p_now, again.event_id, again.type, again.beside_received
  from (
    select o.id, o.event_id, o.type, is_beside_received(e, o.type) as beside_received
    from outbox o
    join webhook_endpoints e on e.id = p_id
    where o.id = any (p_positions)
      and can_be_redelivered(o, e)
      and (is_message_event(o.type) or v_hears)
      and not exists (
        select
        from webhook_deliveries d
        where d.endpoint_id = p_id
          and d.outbox_id = o.id
          and d.replaced_at is null
      )
      -- Index webhook_attempts_by_endpoint.
      and not exists (
        select
        from webhook_attempts a
        where a.endpoint_id = p_id
          and a.id > p_seen
          and a.outbox_id = o.id
          and a.error is null
      )
    order by o.id
    for key share of o
  ) again;
  get diagnostics queued = row_count;

  update webhook_lanes l
  set next_due = least(l.next_due, p_now)
  where l.endpoint_id = p_id
    and queued > 0;
  return next;
end
$$;
