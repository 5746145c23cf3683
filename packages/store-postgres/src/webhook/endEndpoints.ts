/**
 * Stopping and removing endpoints: what is pending ends with them, in the same commit. An event that
 * is being written meanwhile may still queue a delivery: the claim that reads its news drops it.
 *
 * Locks: the lanes by endpoint, then the endpoints.
 */
import { sqlFunction } from "../database/SqlFunction.ts"

/** Ends everything that is to be delivered to these endpoints; their lanes are locked. */
const endPending = sqlFunction(
  "end_webhook_deliveries",
  `(p_endpoints bigint[])
  returns void
  language plpgsql
  as $function$
  begin
    with ended as (
      delete from webhook_deliveries d
      where d.endpoint_id = any (p_endpoints)
      returning d.last_attempt_id
    )
    update webhook_attempts a
    set next_attempt_at = null
    from ended
    where a.id = ended.last_attempt_id;

    update webhook_lanes l
    set next_due = null,
      held_ids = '{}',
      held_leases = '{}',
      held_until = '{}'
    where l.endpoint_id = any (p_endpoints);
  end
  $function$`,
)

/** Stops those of them that run. */
export const stopEndpoints = sqlFunction(
  "stop_webhook_endpoints",
  `(p_endpoints bigint[], p_reason text)
  returns void
  language plpgsql
  as $function$
  declare
    v_stopped bigint[];
  begin
    perform
    from webhook_lanes l
    where l.endpoint_id = any (p_endpoints)
    order by l.endpoint_id
    for no key update;

    with stopped as (
      update webhook_endpoints e
      set disabled_reason = p_reason
      where e.id = any (p_endpoints)
        and e.disabled_reason is null
        and e.removed_at is null
      returning e.id
    )
    select array_agg(stopped.id)
    into v_stopped
    from stopped;
    if v_stopped is not null then
      perform ${endPending.name}(v_stopped);
    end if;
  end
  $function$`,
)

/** Removes them; their log goes when it is old enough. Returns how many there were. */
export const removeEndpoints = sqlFunction(
  "remove_webhook_endpoints",
  `(p_endpoints bigint[], p_now timestamptz)
  returns integer
  language plpgsql
  as $function$
  declare
    v_removed bigint[];
  begin
    perform
    from webhook_lanes l
    where l.endpoint_id = any (p_endpoints)
    order by l.endpoint_id
    for no key update;

    with removed as (
      update webhook_endpoints e
      set removed_at = p_now
      where e.id = any (p_endpoints)
        and e.removed_at is null
      returning e.id
    )
    select array_agg(removed.id)
    into v_removed
    from removed;
    if v_removed is null then
      return 0;
    end if;
    perform ${endPending.name}(v_removed);
    delete from webhook_lanes l
    where l.endpoint_id = any (v_removed);
    return cardinality(v_removed);
  end
  $function$`,
)

export const endEndpointFunctions = [endPending, stopEndpoints, removeEndpoints]
