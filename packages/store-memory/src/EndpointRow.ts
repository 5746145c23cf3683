/** Webhook endpoints, and what is to be delivered to them, as the world holds them. */
import type {
  DeliveryAttempt,
  EventId,
  WebhookEndpoint,
  WebhookEventType,
} from "@messaging-service/core"
import type { Sorted } from "./Sorted.ts"

export interface EndpointRow {
  endpoint: Omit<WebhookEndpoint, "lastAttempt">
  removed: boolean
  /** When it was made, resumed, or something was last delivered to it: the latest of them. */
  deliveredSince: number
  /** What is to be delivered, in flight or not. */
  readonly pending: Sorted<DeliveryRow>
  readonly inFlight: Map<number, DeliveryInFlight>
  /** Where it stands in the agenda; null when nothing is to be delivered. */
  agendaAt: number | null
  /** Oldest first. */
  log: Array<LoggedAttempt>
}

/** An event as it is delivered. */
export interface FrozenEvent {
  readonly id: EventId
  readonly type: WebhookEventType
  readonly body: string
}

export interface DeliveryRow {
  readonly id: number
  readonly endpoint: EndpointRow
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
  attempt: DeliveryAttempt
  readonly event: FrozenEvent
}

/** An endpoint and the moment at which something of it can next be claimed. */
export interface EndpointTurn {
  readonly at: number
  readonly row: EndpointRow
}

/** The longest due first. */
export const byEndpointTurn = (a: EndpointTurn, b: EndpointTurn): number =>
  a.at - b.at || a.row.endpoint.id - b.row.endpoint.id

export const byDueDelivery = (a: DeliveryRow, b: DeliveryRow): number =>
  a.dueAt - b.dueAt || a.id - b.id
