/** `WebhookStore` in memory. */
import { canBeRedelivered, holdsAllEndpoints, isRunning } from "@messaging-service/core"
import type {
  CallbackAttempt,
  CallbackType,
  DeliveryAttempt,
  EventId,
  OutboxEvent,
  Queueing,
  WebhookEndpoint,
  WebhookEventType,
  WebhookScope,
  WebhookStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import {
  drop,
  endpointIn,
  openEndpoint,
  queue,
  removeEndpoint,
  reschedule,
  shown,
} from "./deliveryQueue.ts"
import { finishClaim, isLost } from "./idempotency.ts"
import { newestFirst, visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { workspaceOf } from "./tables.ts"
import type { EndpointRow, FrozenEvent, LoggedAttempt, Tables } from "./tables.ts"

/** The latest event with that id, found in steps: the outbox holds what happened in 30 days. */
const findEvent = (tables: Tables, eventId: EventId): Effect.Effect<OutboxEvent | null> =>
  Effect.suspend(() => {
    let found: OutboxEvent | null = null
    // Of a copy: events are dropped from the front meanwhile.
    const visits = visitInSteps(tables.outbox.slice(), (event) => {
      if (event?.eventId === eventId) found = event
    })
    return Effect.map(visits, () => found)
  })

/** An event that can be delivered to the endpoint once more; a ping when it was attempted there. */
const redeliverable = (
  { endpoint, log }: EndpointRow,
  eventId: EventId,
  event: OutboxEvent | null,
): FrozenEvent | undefined => {
  if (event === null) {
    return log.find((logged) => logged.event.id === eventId && logged.event.type === "ping")?.event
  }
  const { body, type } = event
  return canBeRedelivered(event, endpoint) ? { id: eventId, type, body, url: null } : undefined
}

const shownIfThere = (row: EndpointRow | undefined) => (row === undefined ? null : shown(row))

export const webhookStore = (tables: Tables): Steps<typeof WebhookStore.Service> => ({
  insert: (given, limit, idempotency) => {
    if (isLost(tables, idempotency)) return { _tag: "Broken", guard: "idempotency" }
    if (given.keyId !== null && tables.keys.get(given.keyId)?.key.revokedAt !== null) {
      return { _tag: "Broken", guard: "key" }
    }
    const owner = workspaceOf(tables, given.workspaceId)
    if (owner === undefined || holdsAllEndpoints(owner.endpoints, limit)) {
      return { _tag: "Broken", guard: "limit" }
    }
    const row = openEndpoint(tables, owner, given)
    finishClaim(tables, idempotency, [row.endpoint.id])
    return { _tag: "Inserted", endpoint: shown(row) }
  },

  get: (scope, id) => shownIfThere(endpointIn(tables, scope, id)),

  made: (id) => shownIfThere(tables.endpoints.get(id)),

  list: (scope, stopped) =>
    (workspaceOf(tables, scope.workspaceId)?.endpoints ?? [])
      .filter(
        (row) =>
          !row.removed &&
          (stopped || isRunning(row)) &&
          (scope.mode === null || row.endpoint.mode === scope.mode),
      )
      .map(shown),

  rotate: (scope, id, secret) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return null
    row.endpoint = { ...row.endpoint, ...secret }
    return shown(row)
  },

  remove: (scope, id, now) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return false
    removeEndpoint(tables, row, now)
    return true
  },

  resume: (scope, id, limit, now) => {
    const row = endpointIn(tables, scope, id)
    const owner = workspaceOf(tables, scope.workspaceId)
    if (row === undefined || owner === undefined) return null
    if (isRunning(row)) return shown(row)
    if (holdsAllEndpoints(owner.endpoints, limit)) return "limit"
    row.endpoint = { ...row.endpoint, disabledReason: null }
    row.deliveredSince = now
    return shown(row)
  },

  ping: (scope, id, { id: eventId, body, createdAt }) =>
    queueing(tables, scope, id, (row) => {
      queue(tables, row, { id: eventId, type: "ping", body, url: null }, createdAt)
      return "ping"
    }),

  redeliver: (scope, id, eventId, now) =>
    Effect.map(findEvent(tables, eventId), (found) =>
      queueing(tables, scope, id, (row) => {
        const event = redeliverable(row, eventId, found)
        if (event === undefined) return null
        for (const delivery of Array.from(row.pending)) {
          if (delivery.event.id === eventId) drop(delivery)
        }
        reschedule(tables, row)
        queue(tables, row, event, now)
        return event.type
      }),
    ),

  attempts: (id, page) =>
    newestFirst(
      tables.endpoints.get(id)?.log ?? [],
      page,
      (logged) => logged.attempt as DeliveryAttempt,
    ),

  callbackAttempts: (workspaceId, page) =>
    newestFirst(
      workspaceOf(tables, workspaceId)?.callbackLog ?? [],
      page,
      ({ attempt, event }): CallbackAttempt => ({
        ...attempt,
        type: attempt.type as CallbackType,
        url: event.url ?? "",
      }),
    ),

  forgetAttempts: (before) => {
    const isKept = ({ attempt }: LoggedAttempt) => attempt.attemptedAt >= before
    for (const row of tables.endpoints.rows) row.log = row.log.filter(isKept)
    for (const row of tables.workspaces.rows) row.callbackLog = row.callbackLog.filter(isKept)
  },
})

/** Queues something for a running endpoint: the type of the event, null when there is none. */
const queueing = (
  tables: Tables,
  scope: WebhookScope,
  id: WebhookEndpoint["id"],
  make: (row: EndpointRow) => FrozenEvent["type"] | null,
): Queueing => {
  const row = endpointIn(tables, scope, id)
  if (row === undefined) return { _tag: "NoEndpoint" }
  if (!isRunning(row)) return { _tag: "Stopped" }
  const type = make(row)
  return type === null ? { _tag: "NoEvent" } : { _tag: "Queued", type: type as WebhookEventType }
}
