/** What is to be delivered to webhook endpoints and to the receivers of callbacks. */
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryQueue,
  DeliveryResult,
  EventId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { call, statement } from "../database/Statement.ts"
import type { DeliveriesQueued } from "./queueDeliveries.ts"
import { resultParameters, settleAndClaimDeliveries } from "./settleAndClaimDeliveries.ts"
import type { LaneResults } from "./settleAndClaimDeliveries.ts"

interface ClaimedRow {
  readonly id: bigint
  readonly lane_id: bigint
  readonly workspace_id: bigint
  readonly lease: bigint
  readonly event_id: string
  readonly body: string
  readonly attempt: number
  readonly url: string
  readonly secret_salt: string | null
}

const settleAndClaim = call("delivery.turn", settleAndClaimDeliveries)

/** No moment is named: no lease has run out, nothing is due, and any number may be in flight. */
const settle = statement("delivery.settle", resultParameters)`
select from ${settleAndClaimDeliveries.name}(
  ${resultParameters.placeholders}, '-infinity', null, 0, 2147483647, 0, 0, '{}', '{}'
)`

const lanesOf = (results: ReadonlyArray<DeliveryResult>): ReadonlyArray<LaneResults> =>
  Array.from(
    Map.groupBy(results, ({ targetId }) => targetId),
    ([id, ofLane]) => ({
      id,
      results: ofLane,
    }),
  )

const toClaimed = (row: ClaimedRow): ClaimedDelivery => {
  const targetId = Number(row.lane_id)
  return {
    id: Number(row.id),
    kind: targetId < 0 ? "callback" : "webhook",
    targetId,
    workspaceId: Number(row.workspace_id) as WorkspaceId,
    lease: Number(row.lease),
    eventId: row.event_id as EventId,
    body: row.body,
    attempt: row.attempt,
    url: row.url,
    secretSalt: row.secret_salt,
  }
}

export const deliveryQueue = (
  database: DatabaseService,
  { whenQueued }: DeliveriesQueued,
): typeof DeliveryQueue.Service => {
  const turn = (results: ReadonlyArray<DeliveryResult>, query: DeliveryQuery) =>
    settleAndClaim.all(database, { lanes: lanesOf(results), query }, toClaimed)

  return {
    claim: (query) => turn([], query),
    settle: (results) =>
      results.length === 0 ? Effect.void : settle.run(database, lanesOf(results)),
    settleAndClaim: turn,
    whenQueued,
  }
}
