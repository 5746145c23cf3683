/**
 * Settling attempts and claiming what comes after them in one commit: what a busy loop does all the
 * time costs one round trip instead of two, and the lanes whose attempts ended are at hand.
 *
 * Locks: all lanes that are settled or have news by endpoint, at once, because the two steps alone
 * would lock them one group after the other; then the endpoints that stop; then further lanes,
 * without waiting for any.
 */
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryResult,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { instant, integer } from "../database/parameters.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { claimFromLanes, claimedColumns, takeNews, toClaimed } from "./claimDeliveries.ts"
import type { ClaimedRow } from "./claimDeliveries.ts"
import { settleDeliveries, settleParameters } from "./settleDeliveries.ts"

export const settleAndClaim = sqlFunction(
  "settle_and_claim_webhook_deliveries",
  `(
    p_delivery bigint[],
    p_endpoint bigint[],
    p_lease bigint[],
    p_attempted_at timestamptz[],
    p_duration_millis bigint[],
    p_response_status integer[],
    p_error text[],
    p_next_attempt_at timestamptz[],
    p_stop_since timestamptz[],
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

    perform
    from webhook_lanes l
    where l.endpoint_id = any (p_endpoint || v_news)
    order by l.endpoint_id
    for no key update;

    perform ${settleDeliveries.name}(
      p_delivery, p_endpoint, p_lease, p_attempted_at, p_duration_millis, p_response_status,
      p_error, p_next_attempt_at, p_stop_since
    );

    return query
    select claimed.*
    from ${claimFromLanes.name}(v_news, p_now, p_lease_until, p_limit, p_per_endpoint) claimed;
  end
  $function$`,
)

const statement = `select * from ${settleAndClaim.name}(${Array.from(
  { length: 13 },
  (_, index) => `$${index + 1}`,
).join(", ")})`

export const settleResultsAndClaim =
  (database: DatabaseService) =>
  (
    results: ReadonlyArray<DeliveryResult>,
    query: DeliveryQuery,
  ): Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable> =>
    Effect.map(
      database.query<ClaimedRow>("delivery.settleAndClaim", statement, [
        ...settleParameters(results),
        instant(query.now),
        instant(query.leaseUntil),
        integer(query.limit),
        integer(query.perEndpoint),
      ]),
      (rows) => rows.map(toClaimed),
    )
