/** What happens to a webhook endpoint and to what is to be delivered to it, whichever port asks. */
import type {
  DisabledReason,
  MessageEvent,
  NewWebhook,
  WebhookEndpoint,
  WebhookId,
  WebhookScope,
} from "@messaging-service/core"
import { isToldOf } from "@messaging-service/core"
import { byDueDelivery } from "./EndpointRow.ts"
import type { DeliveryRow, EndpointRow, FrozenEvent } from "./EndpointRow.ts"
import { Sorted } from "./Sorted.ts"
import type { WorkspaceRow, World } from "./World.ts"

export const openEndpoint = (world: World, owner: WorkspaceRow, given: NewWebhook): EndpointRow => {
  const row = world.endpoints.insert((id: WebhookId): EndpointRow => ({
    endpoint: { ...given, id, firstSecretLast4: given.secretLast4, disabledReason: null },
    removed: false,
    deliveredSince: given.createdAt,
    pending: new Sorted(byDueDelivery),
    inFlight: new Map(),
    agendaAt: null,
    log: [],
  }))
  owner.endpoints.push(row)
  return row
}

export const isRunning = ({ endpoint, removed }: EndpointRow): boolean =>
  !removed && endpoint.disabledReason === null

/** The endpoint as the port shows it. */
export const shown = ({ endpoint, log }: EndpointRow): WebhookEndpoint => ({
  ...endpoint,
  lastAttempt: log.at(-1)?.attempt ?? null,
})

/** The endpoint, unless it is unknown, removed or not to be seen in that scope. */
export const endpointIn = (
  world: World,
  { workspaceId, mode }: WebhookScope,
  id: WebhookId,
): EndpointRow | undefined => {
  const row = world.endpoints.get(id)
  if (row === undefined || row.removed || row.endpoint.workspaceId !== workspaceId) return undefined
  return mode === null || row.endpoint.mode === mode ? row : undefined
}

/** Puts the endpoint into its place in the agenda. */
const turnAt = (world: World, row: EndpointRow, at: number | null): void => {
  if (at === row.agendaAt) return
  if (row.agendaAt !== null) world.endpointTurns.delete({ at: row.agendaAt, row })
  if (at !== null) world.endpointTurns.add({ at, row })
  row.agendaAt = at
}

/**
 * When something could next be claimed: the earliest that is not in flight, or the end of a lease;
 * only the latter while no more may be in flight.
 */
export const reschedule = (world: World, row: EndpointRow, full = false): void => {
  let at = Number.POSITIVE_INFINITY
  for (const { leaseUntil } of row.inFlight.values()) at = Math.min(at, leaseUntil)
  if (!full) at = Math.min(at, waiting(row).next().value?.dueAt ?? Number.POSITIVE_INFINITY)
  turnAt(world, row, at === Number.POSITIVE_INFINITY ? null : at)
}

/** What is not in flight, in the order in which it falls due. */
export function* waiting(row: EndpointRow): Generator<DeliveryRow, undefined> {
  for (const delivery of row.pending) if (!row.inFlight.has(delivery.id)) yield delivery
  return undefined
}

/** Something more is to be delivered to the endpoint. */
export const queue = (world: World, row: EndpointRow, event: FrozenEvent, dueAt: number): void => {
  row.pending.add({
    id: ++world.lastDeliveryId,
    endpoint: row,
    event,
    dueAt,
    attempts: 0,
    lastAttempt: null,
  })
  turnAt(world, row, Math.min(row.agendaAt ?? dueAt, dueAt))
}

/** Queues a message's event for every endpoint that is to hear of it. */
export const fanOut = (world: World, owner: WorkspaceRow, event: MessageEvent): void => {
  const { id, type, body, createdAt } = event
  for (const row of owner.endpoints) {
    if (row.removed || !isToldOf(row.endpoint, event)) continue
    queue(world, row, { id, type, body }, createdAt)
    world.deliveriesQueued.openUnsafe()
  }
}

/** Takes a delivery out; if it failed before, there is no next attempt after all. */
export const drop = (delivery: DeliveryRow): void => {
  const { endpoint, lastAttempt } = delivery
  endpoint.pending.delete(delivery)
  endpoint.inFlight.delete(delivery.id)
  if (lastAttempt !== null) lastAttempt.attempt = { ...lastAttempt.attempt, nextAttemptAt: null }
}

const dropAll = (world: World, row: EndpointRow): void => {
  for (const delivery of Array.from(row.pending)) drop(delivery)
  reschedule(world, row)
}

/** Stops a running endpoint. */
export const stop = (world: World, row: EndpointRow, reason: DisabledReason): void => {
  if (!isRunning(row)) return
  row.endpoint = { ...row.endpoint, disabledReason: reason }
  dropAll(world, row)
}

export const removeEndpoint = (world: World, row: EndpointRow): void => {
  dropAll(world, row)
  row.removed = true
  row.log = []
}
