/** What is to be delivered to webhook endpoints and to the receivers of callbacks. */
import { DeliveryQueue } from "@messaging-service/core"
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryResult,
  EventId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import {
  bigints,
  instant,
  instants,
  integer,
  integers,
  sparse,
  texts,
} from "../database/parameters.ts"
import { placeholders } from "../database/SqlFunction.ts"
import { DeliveriesQueued } from "./DeliveriesQueued.ts"
import { settleAndClaimDeliveries } from "./settleAndClaimDeliveries.ts"

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

const settleAndClaim = `select * from ${settleAndClaimDeliveries.name}(${placeholders(19)})`

/** No moment is named: no lease has run out, nothing is due, and any number may be in flight. */
const settle = `select from ${settleAndClaimDeliveries.name}(
  ${placeholders(11)}, '-infinity', null, 0, 2147483647, 0, 0, '{}', '{}'
)`

/** When the latest of them was delivered; null when none was. */
const deliveredAt = (results: ReadonlyArray<DeliveryResult>): number | null =>
  results.reduce<number | null>(
    (latest, { attemptedAt, error }) =>
      error === null && attemptedAt > (latest ?? -Infinity) ? attemptedAt : latest,
    null,
  )

const resultParameters = (results: ReadonlyArray<DeliveryResult>): ReadonlyArray<unknown> => {
  const lanes = [...Map.groupBy(results, (result) => result.targetId)]
  const inOrder = lanes.flatMap(([, ofLane]) => ofLane)
  return [
    bigints(lanes.map(([id]) => id)),
    integers(lanes.map(([, ofLane]) => ofLane.length)),
    instants(lanes.map(([, ofLane]) => deliveredAt(ofLane))),
    bigints(inOrder.map((result) => result.id)),
    bigints(inOrder.map((result) => result.lease)),
    instants(inOrder.map((result) => result.attemptedAt)),
    bigints(inOrder.map((result) => result.durationMillis)),
    integers(sparse(inOrder.map((result) => result.responseStatus))),
    texts(sparse(inOrder.map((result) => result.error))),
    instants(sparse(inOrder.map((result) => result.nextAttemptAt))),
    instants(sparse(inOrder.map((result) => result.stopUnlessDeliveredSince))),
  ]
}

const queryParameters = (query: DeliveryQuery): ReadonlyArray<unknown> => [
  instant(query.now),
  instant(query.leaseUntil),
  integer(query.limit),
  integer(query.perTarget),
  integer(query.callbacks.limit),
  integer(query.callbacks.perWorkspace),
  bigints([...query.callbacks.held.keys()]),
  integers([...query.callbacks.held.values()]),
]

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

export const layerDeliveries = Layer.effect(
  DeliveryQueue,
  Effect.gen(function* () {
    const database = yield* Database
    const { whenQueued } = yield* DeliveriesQueued

    const settleResultsAndClaim = (results: ReadonlyArray<DeliveryResult>, query: DeliveryQuery) =>
      Effect.map(
        database.query<ClaimedRow>("delivery.turn", settleAndClaim, [
          ...resultParameters(results),
          ...queryParameters(query),
        ]),
        (rows) => rows.map(toClaimed),
      )

    return DeliveryQueue.of({
      claim: (query) => settleResultsAndClaim([], query),
      settle: (results) =>
        results.length === 0
          ? Effect.void
          : Effect.asVoid(database.query("delivery.settle", settle, resultParameters(results))),
      settleAndClaim: settleResultsAndClaim,
      whenQueued,
    })
  }),
)
