/** What is to be delivered to one target, a webhook endpoint or an origin of callbacks. */
import type {
  CallbackType,
  DeliveryAttempt,
  EventId,
  WebhookEndpoint,
  WebhookEventType,
  WorkspaceId,
} from "@messaging-service/core"
import { Sorted } from "./Sorted.ts"
import type { World } from "./World.ts"

interface Lane {
  readonly workspaceId: WorkspaceId
  /** What is to be delivered, in flight or not. */
  readonly pending: Sorted<DeliveryRow>
  readonly inFlight: Map<number, DeliveryInFlight>
  /** Where it stands in the agenda; null when nothing is to be delivered. */
  agendaAt: number | null
}

export interface EndpointRow extends Lane {
  readonly kind: "webhook"
  readonly id: WebhookEndpoint["id"]
  endpoint: Omit<WebhookEndpoint, "lastAttempt">
  removed: boolean
  /** When it was made, resumed, or something was last delivered to it: the latest of them. */
  deliveredSince: number
  /** Oldest first. */
  log: Array<LoggedAttempt>
}

/** It is there while something is to be delivered. */
export interface CallbackLane extends Lane {
  readonly kind: "callback"
  /** Below zero: no endpoint has it. */
  readonly id: number
  readonly origin: string
}

export type DeliveryLane = EndpointRow | CallbackLane

/** An event or a callback as it is delivered. */
export interface FrozenEvent {
  readonly id: EventId
  readonly type: WebhookEventType | CallbackType
  readonly body: string
  /** Of a callback; an event goes to its endpoint's. */
  readonly url: string | null
}

export interface DeliveryRow {
  readonly id: number
  readonly lane: DeliveryLane
  readonly event: FrozenEvent
  dueAt: number
  /** The attempts that failed, and the latest of them. */
  attempts: number
  lastAttempt: LoggedAttempt | null
}

export interface DeliveryInFlight {
  readonly delivery: DeliveryRow
  readonly lease: number
  readonly leaseUntil: number
}

export interface LoggedAttempt {
  attempt: DeliveryAttempt<FrozenEvent["type"]>
  readonly event: FrozenEvent
}

/** A lane and the moment at which something of it can next be claimed. */
export interface DeliveryTurn {
  readonly at: number
  readonly lane: DeliveryLane
}

/** The longest due first. */
export const byDeliveryTurn = (a: DeliveryTurn, b: DeliveryTurn): number =>
  a.at - b.at || a.lane.id - b.lane.id

export const byDueDelivery = (a: DeliveryRow, b: DeliveryRow): number =>
  a.dueAt - b.dueAt || a.id - b.id

/** A lane on which nothing is to be delivered yet. */
export const emptyLane = (workspaceId: WorkspaceId): Lane => ({
  workspaceId,
  pending: new Sorted(byDueDelivery),
  inFlight: new Map(),
  agendaAt: null,
})

/** Puts the lane into its place in the agenda. */
const turnAt = (world: World, lane: DeliveryLane, at: number | null): void => {
  if (at === lane.agendaAt) return
  if (lane.agendaAt !== null) world.deliveryTurns.delete({ at: lane.agendaAt, lane })
  if (at !== null) world.deliveryTurns.add({ at, lane })
  lane.agendaAt = at
}

/**
 * When something could next be claimed: the earliest that is not in flight, or the end of a lease;
 * only the latter while no more may be in flight.
 */
export const reschedule = (world: World, lane: DeliveryLane, full = false): void => {
  let at = Number.POSITIVE_INFINITY
  for (const { leaseUntil } of lane.inFlight.values()) at = Math.min(at, leaseUntil)
  if (!full) at = Math.min(at, waiting(lane).next().value?.dueAt ?? Number.POSITIVE_INFINITY)
  turnAt(world, lane, at === Number.POSITIVE_INFINITY ? null : at)
}

/** What is not in flight, in the order in which it falls due. */
export function* waiting(lane: DeliveryLane): Generator<DeliveryRow, undefined> {
  for (const delivery of lane.pending) if (!lane.inFlight.has(delivery.id)) yield delivery
  return undefined
}

/** Something more is to be delivered. */
export const queue = (
  world: World,
  lane: DeliveryLane,
  event: FrozenEvent,
  dueAt: number,
): void => {
  lane.pending.add({
    id: ++world.lastDeliveryId,
    lane,
    event,
    dueAt,
    attempts: 0,
    lastAttempt: null,
  })
  turnAt(world, lane, Math.min(lane.agendaAt ?? dueAt, dueAt))
}

/** Takes a delivery out; if it failed before, there is no next attempt after all. */
export const drop = (delivery: DeliveryRow): void => {
  const { lane, lastAttempt } = delivery
  lane.pending.delete(delivery)
  lane.inFlight.delete(delivery.id)
  if (lastAttempt !== null) lastAttempt.attempt = { ...lastAttempt.attempt, nextAttemptAt: null }
}

export const dropAll = (world: World, lane: DeliveryLane): void => {
  for (const delivery of Array.from(lane.pending)) drop(delivery)
  reschedule(world, lane)
}
