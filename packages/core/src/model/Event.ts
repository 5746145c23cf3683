/**
 * Events: what the commit of a change writes for webhooks and listeners, with a frozen body, so that
 * every change is announced and every attempt is identical (contract: Events, Events of conversations).
 */
import type { EventId, MessageId, ReceivedMessageId, WorkspaceId } from "./Ids.ts"
import { formatInstant } from "./Time.ts"
import type { Mode } from "./Workspace.ts"

/** What an endpoint that names no types receives, in the order of answers. */
export const webhookEventTypes = [
  "message.sent",
  "message.failed",
  "message.cancelled",
  "message.expired",
] as const

/** Of a message's end. */
export type MessageEventType = (typeof webhookEventTypes)[number]

/** Of a tick, by the state that it leads to. */
export const tickEvents = { delivered: "message.delivered", read: "message.read" } as const

export type TickEventType = (typeof tickEvents)[keyof typeof tickEvents]

export const numberEventTypes = [
  "number.connected",
  "number.disconnected",
  "number.paused",
  "number.resumed",
] as const

export type NumberEventType = (typeof numberEventTypes)[number]

/** Messages of a number may be missing. */
export const gapEventType = "number.gap"

/** Of what WhatsApp lets a number do with new chats. */
export const restrictionEventTypes = ["number.restricted", "number.unrestricted"] as const

export type RestrictionEventType = (typeof restrictionEventTypes)[number]

/** Of what people write; an endpoint needs `chats:read` for them. */
export const receivedEventTypes = [
  "message.received",
  "message.echo",
  "message.edited",
  "message.revoked",
  "message.reaction",
  "message.recovered",
] as const

export type ReceivedEventType = (typeof receivedEventTypes)[number]

/** What an endpoint may name in addition to the four while conversations are on. */
export const conversationEventTypes = [
  tickEvents.delivered,
  tickEvents.read,
  ...numberEventTypes,
  gapEventType,
  ...restrictionEventTypes,
  ...receivedEventTypes,
] as const

export type ConversationEventType = (typeof conversationEventTypes)[number]

/** Everything that an endpoint may name. */
export const eventTypes = [...webhookEventTypes, ...conversationEventTypes] as const

export type EventType = (typeof eventTypes)[number]

export const isReceivedEvent = (type: unknown): type is ReceivedEventType =>
  (receivedEventTypes as ReadonlyArray<unknown>).includes(type)

export const isMessageEvent = (type: unknown): type is MessageEventType =>
  (webhookEventTypes as ReadonlyArray<unknown>).includes(type)

export const isConversationEvent = (type: unknown): type is ConversationEventType =>
  (conversationEventTypes as ReadonlyArray<unknown>).includes(type)

export interface ServiceEvent {
  readonly id: EventId
  readonly type: EventType
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** Null for the event of a number or of a received message. */
  readonly messageId: MessageId | null
  /** Of a received message: the event is erased with it. */
  readonly receivedMessageId?: ReceivedMessageId
  readonly createdAt: number
  /** The envelope's bytes, identical in every attempt (contract: Events). */
  readonly body: string
}

export interface MessageEvent extends ServiceEvent {
  readonly messageId: MessageId
}

/** The `ping` that tests a webhook endpoint (contract: Events). */
export type PingEvent = Pick<ServiceEvent, "id" | "createdAt" | "body">

/** The envelope's bytes. */
export const eventBody = (
  id: EventId,
  type: EventType | "ping",
  createdAt: number,
  data: object,
): string => JSON.stringify({ id, type, created_at: formatInstant(createdAt), data })

/** Reads the data back from the envelope. */
export const eventData = <Data>(body: string): Data =>
  (JSON.parse(body) as { readonly data: Data }).data

/** An event of no message, such as that of a number. */
export const serviceEvent = (
  id: EventId,
  type: EventType,
  { mode, workspaceId }: Pick<ServiceEvent, "mode" | "workspaceId">,
  createdAt: number,
  data: object,
): ServiceEvent => ({
  id,
  type,
  workspaceId,
  mode,
  messageId: null,
  createdAt,
  body: eventBody(id, type, createdAt, data),
})
