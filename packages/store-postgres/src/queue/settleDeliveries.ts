/**
 * Settling attempts to deliver: the log, the end or the next turn of each delivery, and the stop of
 * endpoints to which nothing gets through, in one commit. A result whose lease is not the delivery's
 * any more is passed over.
 *
 * Locks: the lanes by endpoint, then the endpoints that stop.
 */
import type { DeliveryResult, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, instants, integers, texts } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { stopEndpoints } from "../webhook/endEndpoints.ts"
import { firstDueDelivery } from "./claimDeliveries.ts"

/** Every array holds one element for each result. */
export const settleDeliveries = sqlFunction(
  "settle_webhook_deliveries",
  `(
    p_delivery bigint[],
    p_endpoint bigint[],
    p_lease bigint[],
    p_attempted_at timestamptz[],
    p_duration_millis bigint[],
    p_response_status integer[],
    p_error text[],
    p_next_attempt_at timestamptz[],
    p_stop_since timestamptz[]
  )
  returns void
  language plpgsql
  as $function$
  declare
    -- The places of the results whose lease still holds.
    v_held integer[];
    v_stopped bigint[];
  begin
    perform
    from webhook_lanes l
    where l.endpoint_id = any (p_endpoint)
    order by l.endpoint_id
    for no key update;

    select array_agg(r.place)
    into v_held
    from unnest(p_delivery, p_endpoint, p_lease) with ordinality
      r (delivery_id, endpoint_id, lease, place)
    join webhook_lanes l on l.endpoint_id = r.endpoint_id
    where l.held_leases[array_position(l.held_ids, r.delivery_id)] = r.lease;
    if v_held is null then
      return;
    end if;

    with result as materialized (
      select r.*, nextval('webhook_attempts_id_seq') as attempt_id
      from unnest(
        p_delivery, p_attempted_at, p_duration_millis, p_response_status, p_error,
        p_next_attempt_at
      ) with ordinality r (
        delivery_id, attempted_at, duration_millis, response_status, error, next_attempt_at, place
      )
      where r.place = any (v_held)
    ),
    logged as (
      insert into webhook_attempts (
        id, endpoint_id, outbox_id, attempted_at, next_attempt_at, duration_millis, attempt,
        response_status, event_id, type, error, body
      )
      select
        r.attempt_id, d.endpoint_id, d.outbox_id, r.attempted_at, r.next_attempt_at,
        r.duration_millis, d.attempts + 1, r.response_status, d.event_id, d.type, r.error, d.body
      from result r
      join webhook_deliveries d on d.id = r.delivery_id
    ),
    ended as (
      delete from webhook_deliveries d
      using result r
      where d.id = r.delivery_id
        and r.next_attempt_at is null
    )
    update webhook_deliveries d
    set attempts = d.attempts + 1,
      due_at = r.next_attempt_at,
      last_attempt_id = r.attempt_id
    from result r
    where d.id = r.delivery_id
      and r.next_attempt_at is not null;

    -- A later statement: it sees the deliveries as they are now.
    with settled as materialized (
      select
        r.endpoint_id, array_agg(r.delivery_id) as ids,
        max(r.attempted_at) filter (where r.error is null) as delivered_at,
        min(r.next_attempt_at) as next_attempt_at
      from unnest(p_delivery, p_endpoint, p_attempted_at, p_error, p_next_attempt_at)
        with ordinality
        r (delivery_id, endpoint_id, attempted_at, error, next_attempt_at, place)
      where r.place = any (v_held)
      group by r.endpoint_id
    )
    update webhook_lanes l
    set delivered_since = greatest(l.delivered_since, settled.delivered_at),
      (held_ids, held_leases, held_until, next_due) = (
        select
          coalesce(array_agg(held.id), '{}'),
          coalesce(array_agg(held.lease), '{}'),
          coalesce(array_agg(held.until), '{}'),
          least(
            min(held.until),
            settled.next_attempt_at,
            ${firstDueDelivery("l.endpoint_id", "l.held_ids")}
          )
        from unnest(l.held_ids, l.held_leases, l.held_until) held (id, lease, until)
        where held.id <> all (settled.ids)
      )
    from settled
    where l.endpoint_id = settled.endpoint_id;

    -- Judged when all results are recorded: what was delivered together with a failure counts.
    if array_remove(p_stop_since, null) <> '{}' then
      v_stopped := array(
        select distinct l.endpoint_id
        from unnest(p_endpoint, p_stop_since) with ordinality r (endpoint_id, since, place)
        join webhook_lanes l on l.endpoint_id = r.endpoint_id
        where r.place = any (v_held)
          and l.delivered_since <= r.since
      );
      if cardinality(v_stopped) > 0 then
        perform ${stopEndpoints.name}(v_stopped, 'delivery_failures');
      end if;
    end if;
  end
  $function$`,
)

const statement = `select ${settleDeliveries.name}($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/** The function's arguments. */
export const settleParameters = (
  results: ReadonlyArray<DeliveryResult>,
): ReadonlyArray<unknown> => [
  bigints(results.map((result) => result.id)),
  bigints(results.map((result) => result.endpointId)),
  bigints(results.map((result) => result.lease)),
  instants(results.map((result) => result.attemptedAt)),
  bigints(results.map((result) => result.durationMillis)),
  integers(results.map((result) => result.responseStatus)),
  texts(results.map((result) => result.error)),
  instants(results.map((result) => result.nextAttemptAt)),
  instants(results.map((result) => result.stopUnlessDeliveredSince)),
]

export const settleResults =
  (database: DatabaseService) =>
  (results: ReadonlyArray<DeliveryResult>): Effect.Effect<void, StoreUnavailable> =>
    results.length === 0
      ? Effect.void
      : Effect.asVoid(database.query("delivery.settle", statement, settleParameters(results)))
