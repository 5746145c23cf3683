/**
 * Claiming deliveries: first the news is read into the lanes of its endpoints, then the longest due
 * of free lanes are taken, a few of each endpoint.
 *
 * Locks: the lanes of the news by endpoint; then other lanes, without waiting for any. What is in
 * flight stands in the lane, so that a claim changes no delivery.
 */
import type {
  ClaimedDelivery,
  DeliveryQuery,
  EventId,
  StoreUnavailable,
  WebhookId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { instant, integer } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"

/** The first delivery of an endpoint that is not among `held`. Index `webhook_deliveries_due`. */
export const firstDueDelivery = (endpoint: string, held: string): string => `(
        select first.due_at
        from webhook_deliveries first
        where first.endpoint_id = ${endpoint}
          and first.id <> all (${held})
        order by first.due_at, first.id
        limit 1
      )`

/** Takes the news into `v_news`: endpoints that have got deliveries; null when there are none. */
export const takeNews = `
    with taken as (
      delete from webhook_news n
      where n.id in (
        select oldest.id
        from webhook_news oldest
        order by oldest.id
        limit 1000
        for update skip locked
      )
      returning n.endpoint_id
    )
    select array_agg(distinct taken.endpoint_id)
    into v_news
    from taken;`

/** What a claim returns. */
export const claimedColumns = `
    id bigint, endpoint_id bigint, lease bigint, event_id text, body text, attempt integer,
    url text, secret_salt text
  `

/** The claim itself; the lanes of `p_news` are locked. */
export const claimFromLanes = sqlFunction(
  "claim_from_webhook_lanes",
  `(
    p_news bigint[],
    p_now timestamptz,
    p_lease_until timestamptz,
    p_limit integer,
    p_per_endpoint integer
  )
  returns table (${claimedColumns})
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_ended bigint[];
    v_lanes bigint[];
    v_share integer;
  begin
    if p_news is not null then
      -- Written by somebody who did not see the endpoint end.
      v_ended := array(
        select e.id
        from webhook_endpoints e
        where e.id = any (p_news)
          and (e.disabled_reason is not null or e.removed_at is not null)
      );
      if cardinality(v_ended) > 0 then
        delete from webhook_deliveries d
        where d.endpoint_id = any (v_ended);
      end if;

      update webhook_lanes l
      set next_due = least(l.next_due, ${firstDueDelivery("l.endpoint_id", "l.held_ids")})
      where l.endpoint_id = any (p_news);
    end if;

    -- Index webhook_lanes_due.
    v_lanes := array(
      select l.endpoint_id
      from webhook_lanes l
      where l.next_due <= p_now
      order by l.next_due
      limit p_limit
      for no key update skip locked
    );
    if cardinality(v_lanes) = 0 then
      return;
    end if;

    -- Each endpoint gets its share, so that none waits until another one's queue is empty.
    v_share := greatest(1, p_limit / cardinality(v_lanes));

    return query
    with lane as materialized (
      select l.endpoint_id, live.ids, live.leases, live.until, due.ids as taken
      from webhook_lanes l
      cross join lateral (
        select
          coalesce(array_agg(held.id), '{}') as ids,
          coalesce(array_agg(held.lease), '{}') as leases,
          coalesce(array_agg(held.until), '{}') as until
        from unnest(l.held_ids, l.held_leases, l.held_until) held (id, lease, until)
        where held.until > p_now
      ) live
      cross join lateral (
        select array(
          select d.id
          from webhook_deliveries d
          where d.endpoint_id = l.endpoint_id
            and d.due_at <= p_now
            and d.id <> all (live.ids)
          order by d.due_at, d.id
          limit greatest(0, least(v_share, p_per_endpoint - cardinality(live.ids)))
        ) as ids
      ) due
      where l.endpoint_id = any (v_lanes)
    ),
    moved as (
      update webhook_lanes l
      set lease = l.lease + 1,
        held_ids = lane.ids || lane.taken,
        held_leases = lane.leases || array_fill(l.lease + 1, array[cardinality(lane.taken)]),
        held_until = lane.until || array_fill(p_lease_until, array[cardinality(lane.taken)]),
        next_due = least(
          case when cardinality(lane.taken) > 0 then p_lease_until end,
          (
            select min(lease.until)
            from unnest(lane.until) lease (until)
          ),
          case
            when cardinality(lane.ids) + cardinality(lane.taken) < p_per_endpoint
            then ${firstDueDelivery("lane.endpoint_id", "lane.ids || lane.taken")}
          end
        )
      from lane
      where l.endpoint_id = lane.endpoint_id
      returning l.endpoint_id, l.lease, lane.taken
    )
    select
      d.id, d.endpoint_id, moved.lease, d.event_id, coalesce(d.body, o.body), d.attempts + 1,
      e.url, e.secret_salt
    from moved
    join webhook_endpoints e on e.id = moved.endpoint_id
    cross join lateral unnest(moved.taken) with ordinality taken (id, place)
    join webhook_deliveries d on d.id = taken.id
    left join outbox o on o.id = d.outbox_id
    where coalesce(d.body, o.body) is not null
    order by taken.place, d.due_at, d.id;
  end
  $function$`,
)

export const claimDeliveries = sqlFunction(
  "claim_webhook_deliveries",
  `(
    p_now timestamptz,
    p_lease_until timestamptz,
    p_limit integer,
    p_per_endpoint integer
  )
  returns table (${claimedColumns})
  language plpgsql
  as $function$
  declare
    v_news bigint[];
  begin
    ${takeNews.trimStart()}

    if v_news is not null then
      perform
      from webhook_lanes l
      where l.endpoint_id = any (v_news)
      order by l.endpoint_id
      for no key update;
    end if;

    return query
    select claimed.*
    from ${claimFromLanes.name}(v_news, p_now, p_lease_until, p_limit, p_per_endpoint) claimed;
  end
  $function$`,
)

export interface ClaimedRow {
  readonly id: bigint
  readonly endpoint_id: bigint
  readonly lease: bigint
  readonly event_id: string
  readonly body: string
  readonly attempt: number
  readonly url: string
  readonly secret_salt: string
}

const statement = `select * from ${claimDeliveries.name}($1, $2, $3, $4)`

export const claimDue =
  (database: DatabaseService) =>
  (query: DeliveryQuery): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable> =>
    Effect.map(
      database.query<ClaimedRow>("delivery.claim", statement, [
        instant(query.now),
        instant(query.leaseUntil),
        integer(query.limit),
        integer(query.perEndpoint),
      ]),
      (rows) => rows.map(toClaimed),
    )

export const toClaimed = (row: ClaimedRow): ClaimedDelivery => ({
  id: Number(row.id),
  endpointId: Number(row.endpoint_id) as WebhookId,
  lease: Number(row.lease),
  eventId: row.event_id as EventId,
  body: row.body,
  attempt: row.attempt,
  url: row.url,
  secretSalt: row.secret_salt,
})
