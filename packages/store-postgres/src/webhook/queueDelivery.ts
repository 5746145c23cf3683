/**
 * Queueing one more delivery for an endpoint: a ping, or an event once more. Both return the event's
 * type, or `stopped`, `no endpoint`, `no event`, which are no types.
 *
 * Locks: the endpoint's lane.
 */
import { sqlFunction } from "../database/SqlFunction.ts"

/** How the endpoint stands, once its lane is locked: `running`, `stopped` or `no endpoint`. */
const lockEndpoint = sqlFunction(
  "lock_webhook_endpoint",
  `(p_workspace bigint, p_mode text, p_endpoint bigint)
  returns text
  language plpgsql
  as $function$
  begin
    perform
    from webhook_lanes l
    where l.endpoint_id = p_endpoint
    for no key update;

    return coalesce(
      (
        select case when e.disabled_reason is null then 'running' else 'stopped' end
        from webhook_endpoints e
        where e.id = p_endpoint
          and e.workspace_id = p_workspace
          and (p_mode is null or e.mode = p_mode)
          and e.removed_at is null
      ),
      'no endpoint'
    );
  end
  $function$`,
)

export const queuePing = sqlFunction(
  "queue_webhook_ping",
  `(
    p_workspace bigint,
    p_mode text,
    p_endpoint bigint,
    p_event_id text,
    p_created_at timestamptz,
    p_body text
  )
  returns text
  language plpgsql
  as $function$
  declare
    v_state constant text := ${lockEndpoint.name}(p_workspace, p_mode, p_endpoint);
  begin
    if v_state <> 'running' then
      return v_state;
    end if;
    insert into webhook_deliveries (endpoint_id, due_at, event_id, type, body)
    values (p_endpoint, p_created_at, p_event_id, 'ping', p_body);
    update webhook_lanes l
    set next_due = least(l.next_due, p_created_at)
    where l.endpoint_id = p_endpoint;
    return 'ping';
  end
  $function$`,
)

export const redeliverEvent = sqlFunction(
  "redeliver_webhook_event",
  `(p_workspace bigint, p_mode text, p_endpoint bigint, p_event_id text, p_now timestamptz)
  returns text
  language plpgsql
  as $function$
  declare
    v_state constant text := ${lockEndpoint.name}(p_workspace, p_mode, p_endpoint);
    v_event webhook_attempts;
    v_replaced bigint[];
  begin
    if v_state <> 'running' then
      return v_state;
    end if;

    -- Index webhook_attempts_by_event.
    select a.*
    into v_event
    from webhook_attempts a
    join webhook_endpoints there on there.id = a.endpoint_id
    join webhook_endpoints here on here.id = p_endpoint
    where a.event_id = p_event_id
      and there.workspace_id = p_workspace
      and there.mode = here.mode
      and there.removed_at is null
      and (
        (a.body is not null and there.id = here.id)
        or exists (
          select
          from outbox o
          where o.id = a.outbox_id
        )
      )
    limit 1;
    if not found then
      return 'no event';
    end if;

    with replaced as (
      delete from webhook_deliveries d
      where d.endpoint_id = p_endpoint
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
    values (p_endpoint, v_event.outbox_id, p_now, v_event.event_id, v_event.type, v_event.body);

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
    where before.endpoint_id = p_endpoint
      and l.endpoint_id = p_endpoint;
    return v_event.type;
  end
  $function$`,
)

export const queueDeliveryFunctions = [lockEndpoint, queuePing, redeliverEvent]
