/** `DeliveryQueue` and `CallbackSalts` in memory. */
import type {
  CallbackSalts,
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryQueue,
  DeliveryResult,
  WebhookId,
} from "@messaging-service/core"
import { givePlaces, isLeased, takeInRounds } from "@messaging-service/core"
import { Effect, FiberSet } from "effect"
import { forgetEmpty } from "./Callback.ts"
import { byDueDelivery, reschedule, waiting } from "./DeliveryLane.ts"
import type { DeliveryLane, DeliveryRow, LoggedAttempt } from "./DeliveryLane.ts"
import { stop } from "./Endpoint.ts"
import { workspaceOf } from "./World.ts"
import type { World } from "./World.ts"

/** Drops leases that ran out: they hold no place any more. */
const forgetLapsed = ({ inFlight }: DeliveryLane, now: number): void => {
  for (const [id, { leaseUntil }] of inFlight) if (!isLeased(leaseUntil, now)) inFlight.delete(id)
}

const candidates = (lane: DeliveryLane, { now, perTarget }: DeliveryQuery): Array<DeliveryRow> => {
  const found: Array<DeliveryRow> = []
  for (const delivery of waiting(lane)) {
    if (delivery.dueAt > now || lane.inFlight.size + found.length >= perTarget) break
    found.push(delivery)
  }
  return found
}

const claim = (world: World, query: DeliveryQuery): ReadonlyArray<ClaimedDelivery> => {
  const lanes: Array<DeliveryLane> = []
  const found: Array<ReadonlyArray<DeliveryRow>> = []
  const give = givePlaces(query.callbacks, query.callbacks.limit)
  for (const { at, lane } of world.deliveryTurns) {
    if (at > query.now || lanes.length >= query.limit) break
    forgetLapsed(lane, query.now)
    const due = candidates(lane, query)
    const places = lane.kind === "webhook" ? due.length : give(lane.workspaceId, due.length)
    if (places === 0 && due.length > 0) continue
    found.push(due.slice(0, places))
    lanes.push(lane)
  }
  const claimed = takeInRounds(found, byDueDelivery, query.limit).map((delivery) =>
    hold(world, delivery, query.leaseUntil),
  )
  for (const lane of lanes) reschedule(world, lane, lane.inFlight.size >= query.perTarget)
  return claimed
}

const hold = (world: World, delivery: DeliveryRow, leaseUntil: number): ClaimedDelivery => {
  const { attempts, event, id, lane } = delivery
  const lease = ++world.lastDeliveryLease
  lane.inFlight.set(id, { delivery, lease, leaseUntil })
  const isCallback = lane.kind === "callback"
  return {
    id,
    kind: lane.kind,
    targetId: lane.id,
    workspaceId: lane.workspaceId,
    lease,
    eventId: event.id,
    body: event.body,
    attempt: attempts + 1,
    url: isCallback ? (event.url ?? "") : lane.endpoint.url,
    secretSalt: isCallback
      ? (world.workspaces.get(lane.workspaceId)?.callbackSalt ?? null)
      : lane.endpoint.secretSalt,
  }
}

const laneOf = (world: World, { kind, targetId }: DeliveryResult): DeliveryLane | undefined =>
  kind === "webhook"
    ? world.endpoints.get(targetId as WebhookId)
    : world.callbackLanes.get(targetId)

const logOf = (world: World, lane: DeliveryLane): Array<LoggedAttempt> | undefined =>
  lane.kind === "webhook" ? lane.log : world.workspaces.get(lane.workspaceId)?.callbackLog

const settle = (world: World, result: DeliveryResult): void => {
  const lane = laneOf(world, result)
  const held = lane?.inFlight.get(result.id)
  if (lane === undefined || held === undefined || held.lease !== result.lease) return
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
  lane.pending.delete(delivery)
  lane.inFlight.delete(delivery.id)
  logOf(world, lane)?.push(logged)
  if (result.nextAttemptAt !== null) {
    delivery.dueAt = result.nextAttemptAt
    delivery.attempts++
    delivery.lastAttempt = logged
    lane.pending.add(delivery)
  }
  if (lane.kind === "webhook" && result.error === null) {
    lane.deliveredSince = Math.max(lane.deliveredSince, result.attemptedAt)
  }
  reschedule(world, lane)
  if (lane.kind === "callback") forgetEmpty(world, lane)
}

/** Judged when all results are recorded: what was delivered together with a failure counts. */
const stopSilent = (world: World, result: DeliveryResult): void => {
  const lane = laneOf(world, result)
  const since = result.stopUnlessDeliveredSince
  if (lane?.kind === "webhook" && since !== null && lane.deliveredSince <= since) {
    stop(world, lane, "delivery_failures")
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

  whenQueued: (tell) =>
    Effect.gen(function* () {
      const run = yield* FiberSet.makeRuntime<never, void>()
      const listener = () => void run(tell)
      yield* Effect.acquireRelease(
        Effect.sync(() => world.queuedListeners.add(listener)),
        () => Effect.sync(() => world.queuedListeners.delete(listener)),
      )
    }),
})

export const callbackSalts = (world: World): typeof CallbackSalts.Service => ({
  get: (workspaceId) => Effect.sync(() => workspaceOf(world, workspaceId)?.callbackSalt ?? null),

  put: (workspaceId, salt) =>
    Effect.sync(() => {
      const row = workspaceOf(world, workspaceId)
      if (row === undefined) return false
      row.callbackSalt = salt
      return true
    }),
})
