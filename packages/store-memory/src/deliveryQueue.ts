/** `DeliveryQueue` in memory. */
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryQueue,
  DeliveryResult,
} from "@messaging-service/core"
import { Effect } from "effect"
import { reschedule, stop, waiting } from "./Endpoint.ts"
import { byDueDelivery } from "./EndpointRow.ts"
import type { DeliveryRow, EndpointRow, LoggedAttempt } from "./EndpointRow.ts"
import type { World } from "./World.ts"

interface Candidate {
  readonly delivery: DeliveryRow
  /** Its place among those of its endpoint. */
  readonly place: number
}

/** Drops leases that ran out: they hold no place any more. */
const forgetLapsed = ({ inFlight }: EndpointRow, now: number): void => {
  for (const [id, { leaseUntil }] of inFlight) if (leaseUntil <= now) inFlight.delete(id)
}

const candidates = (row: EndpointRow, { now, perEndpoint }: DeliveryQuery): Array<Candidate> => {
  const found: Array<Candidate> = []
  for (const delivery of waiting(row)) {
    if (delivery.dueAt > now || row.inFlight.size + found.length >= perEndpoint) break
    found.push({ delivery, place: found.length })
  }
  return found
}

const claim = (world: World, query: DeliveryQuery): ReadonlyArray<ClaimedDelivery> => {
  const rows: Array<EndpointRow> = []
  for (const { at, row } of world.endpointTurns) {
    if (at > query.now || rows.length >= query.limit) break
    rows.push(row)
  }
  const found: Array<Candidate> = []
  for (const row of rows) {
    forgetLapsed(row, query.now)
    found.push(...candidates(row, query))
  }
  // Every endpoint's first comes before any endpoint's second.
  const claimed = found
    .toSorted((a, b) => a.place - b.place || byDueDelivery(a.delivery, b.delivery))
    .slice(0, query.limit)
    .map(({ delivery }): ClaimedDelivery => {
      const { endpoint, inFlight } = delivery.endpoint
      const lease = ++world.lastDeliveryLease
      inFlight.set(delivery.id, { delivery, lease, leaseUntil: query.leaseUntil })
      return {
        id: delivery.id,
        endpointId: endpoint.id,
        workspaceId: endpoint.workspaceId,
        lease,
        eventId: delivery.event.id,
        body: delivery.event.body,
        attempt: delivery.attempts + 1,
        url: endpoint.url,
        secretSalt: endpoint.secretSalt,
      }
    })
  for (const row of rows) reschedule(world, row, row.inFlight.size >= query.perEndpoint)
  return claimed
}

const settle = (world: World, result: DeliveryResult): void => {
  const row = world.endpoints.get(result.endpointId)
  const held = row?.inFlight.get(result.id)
  if (row === undefined || held === undefined || held.lease !== result.lease) return
  const { delivery } = held
  const logged: LoggedAttempt = {
    event: delivery.event,
    attempt: {
      id: ++world.lastAttemptId,
      eventId: delivery.event.id,
      type: delivery.event.type,
      attempt: delivery.attempts + 1,
      attemptedAt: result.attemptedAt,
      responseStatus: result.responseStatus,
      error: result.error,
      durationMillis: result.durationMillis,
      nextAttemptAt: result.nextAttemptAt,
    },
  }
  row.pending.delete(delivery)
  row.inFlight.delete(delivery.id)
  row.log.push(logged)
  if (result.nextAttemptAt !== null) {
    delivery.dueAt = result.nextAttemptAt
    delivery.attempts++
    delivery.lastAttempt = logged
    row.pending.add(delivery)
  }
  if (result.error === null) {
    row.deliveredSince = Math.max(row.deliveredSince, result.attemptedAt)
  }
  reschedule(world, row)
}

/** Judged when all results are recorded: what was delivered together with a failure counts. */
const stopSilent = (world: World, result: DeliveryResult): void => {
  const row = world.endpoints.get(result.endpointId)
  const since = result.stopUnlessDeliveredSince
  if (row !== undefined && since !== null && row.deliveredSince <= since) {
    stop(world, row, "delivery_failures")
  }
}

const settleAll = (world: World, results: ReadonlyArray<DeliveryResult>): void => {
  for (const result of results) settle(world, result)
  for (const result of results) stopSilent(world, result)
}

export const deliveryQueue = (world: World): typeof DeliveryQueue.Service => ({
  claim: (query) => Effect.sync(() => claim(world, query)),

  settle: (results) => Effect.sync(() => settleAll(world, results)),

  settleAndClaim: (results, query) =>
    Effect.sync(() => {
      settleAll(world, results)
      return claim(world, query)
    }),

  queued: Effect.andThen(
    world.deliveriesQueued.await,
    Effect.sync(() => world.deliveriesQueued.closeUnsafe()),
  ),
})
