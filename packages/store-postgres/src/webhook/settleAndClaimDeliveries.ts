/**
 * Attempts that ended are recorded, and free places are taken by what is due, in one commit. Settling
 * alone takes nothing, claiming alone records nothing; so what a lane holds and when it is next due is
 * computed in one place, once. A lane is that of a webhook endpoint, whose id it has, or that of a
 * callback's target, with an id below zero: the one knows the address, the secret and when it stops,
 * for the other each delivery brings its own address, and the claim keeps to the workspace's share.
 *
 * A recorded attempt goes to the log, and its delivery ends or gets its next turn; endpoints to which
 * nothing gets through stop. Then marked lanes are looked at, and the longest due of free lanes are taken, a few
 * of each. What is in flight stands in the lane, so that a claim changes no delivery.
 *
 * Locks: the lanes of callbacks that are new, by id; the lanes of the results and those that are marked by id,
 * at once; then the endpoints that stop; then further lanes, without waiting for any.
 */
import { deliveredSinceAfter } from "@messaging-service/core"
import type { DeliveryQuery, DeliveryResult } from "@messaging-service/core"
import { bigint, columnsOf, instant, integer, text, within } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { each, joined, on, part, single, sqlFunction } from "../database/Statement.ts"
import { sharesColumns } from "../queue/shares.ts"

/** The results of a lane; those that are settled together come lane by lane. */
export interface LaneResults {
  readonly id: number
  readonly results: ReadonlyArray<DeliveryResult>
}

/** When the latest of them was delivered; null when none was. */
const deliveredAt = ({ results }: LaneResults): number | null => {
  const latest = deliveredSinceAfter(-Infinity, results)
  return latest === -Infinity ? null : latest
}

const resultColumns = columnsOf({
  id: { p_delivery: bigint((result) => result.id) },
  lease: { p_lease: bigint((result) => result.lease) },
  attemptedAt: { p_attempted_at: instant((result) => result.attemptedAt) },
  durationMillis: { p_duration_millis: bigint((result) => result.durationMillis) },
  responseStatus: { p_response_status: integer((result) => result.responseStatus) },
  error: { p_error: text((result) => result.error) },
  nextAttemptAt: { p_next_attempt_at: instant((result) => result.nextAttemptAt) },
  stopUnlessDeliveredSince: { p_stop_since: instant((result) => result.stopUnlessDeliveredSince) },
} satisfies FieldsOf<Omit<DeliveryResult, "kind" | "targetId">>)

export const resultParameters = joined(
  each({
    p_lane: bigint((lane: LaneResults) => lane.id),
    p_results: integer((lane: LaneResults) => lane.results.length),
    p_delivered_at: instant(deliveredAt),
  }),
  on(
    (lanes: ReadonlyArray<LaneResults>) => lanes.flatMap(({ results }) => results),
    each(resultColumns),
  ),
)

const queryColumns = columnsOf({
  now: { p_now: instant((query) => query.now) },
  leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
  limit: { p_limit: integer((query) => query.limit) },
  perTarget: { p_per_target: integer((query) => query.perTarget) },
  callbacks: {
    p_callbacks: integer(({ callbacks }) => callbacks.limit),
    ...within((query: Pick<DeliveryQuery, "callbacks">) => query.callbacks, sharesColumns),
  },
} satisfies FieldsOf<DeliveryQuery>)

export const settleAndClaimDeliveries = sqlFunction(
  "settle_and_claim_deliveries",
  joined(part("lanes", resultParameters), part("query", single(queryColumns))),
)
