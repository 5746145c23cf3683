/**
 * What happened to one message, from acceptance to its ticks and deliveries (contract: Timeline).
 * Pure: every entry comes from a stored fact, none is guessed.
 */
import type { EventId, WebhookId } from "./Ids.ts"
import type { UnfinishedAttempt } from "./Lane.ts"
import type { MessageEventType } from "./Event.ts"
import type { Message } from "./Message.ts"
import { receiverUrlFor } from "./WebhookEndpoint.ts"
import type { DeliveryError } from "./WebhookEndpoint.ts"
import type { Role } from "./Workspace.ts"

/** An attempt that did not end its message. One that ends it is not stored. */
export interface StoredAttempt {
  /** When it was settled, or found to be interrupted. */
  readonly at: number
  readonly unfinished: UnfinishedAttempt
  /** Nothing leaves the number earlier; null when that is unknown. */
  readonly nextAttemptAt: number | null
}

/** One attempt of a webhook or callback to tell the message's event. */
export interface TimelineDelivery {
  readonly attemptedAt: number
  /** Null for a callback. */
  readonly webhookId: WebhookId | null
  /** Of an endpoint its present one; null once that was erased. */
  readonly url: string | null
  readonly attempt: number
  readonly responseStatus: number | null
  readonly error: DeliveryError | null
  readonly durationMillis: number
  readonly nextAttemptAt: number | null
}

/** All that is stored about what happened to one message. */
export interface TimelineFacts {
  readonly message: Message
  /** When a tick moved it there; null for never. */
  readonly deliveredAt: number | null
  readonly readAt: number | null
  /** That it ended; null while it waits, and once the event was erased. */
  readonly event: {
    readonly id: EventId
    readonly type: MessageEventType
    readonly createdAt: number
  } | null
  /** Due, unexpired messages of its number and mode that leave before it; 0 unless it waits. */
  readonly ahead: number
  /** Until when it waits because its recipient is new (see `newChatsUntil`); null: not for that. */
  readonly newChatsUntil: number | null
  /** Newest first. */
  readonly attempts: ReadonlyArray<StoredAttempt>
  /** Newest first. */
  readonly deliveries: ReadonlyArray<TimelineDelivery>
}

/** In this order where several happened at the same time. */
export const timelineTypes = [
  "accepted",
  "due",
  "postponed",
  "attempt_refused",
  "attempt_interrupted",
  "sent",
  "failed",
  "expired",
  "cancelled",
  "delivered",
  "read",
  "delivery",
] as const

type TimelineType = (typeof timelineTypes)[number]

export interface TimelineEntry {
  readonly at: number
  readonly type: TimelineType
  /** Of a delivery, from 1. */
  readonly attempt: number | null
  readonly eventId: EventId | null
  readonly webhookId: WebhookId | null
  readonly url: string | null
  readonly responseStatus: number | null
  readonly durationMillis: number | null
  readonly nextAttemptAt: number | null
  readonly error: { readonly code: string; readonly message: string | null } | null
}

/** Entries of a timeline at most. */
export const timelineLimit = 200

const blank = {
  attempt: null,
  eventId: null,
  webhookId: null,
  url: null,
  responseStatus: null,
  durationMillis: null,
  nextAttemptAt: null,
  error: null,
} as const

const endings: Readonly<Record<MessageEventType, TimelineType>> = {
  "message.sent": "sent",
  "message.failed": "failed",
  "message.expired": "expired",
  "message.cancelled": "cancelled",
}

/** Entries that are never left out: the message's own steps. */
const toSteps = (
  { deliveredAt, event, message, readAt }: TimelineFacts,
  now: number,
): ReadonlyArray<TimelineEntry> => {
  const { createdAt, error, sendAt } = message
  const steps: Array<TimelineEntry> = []
  const add = (type: TimelineType, at: number, more: Partial<TimelineEntry> = {}) =>
    steps.push({ ...blank, at, type, ...more })
  add("accepted", createdAt)
  // One that ended before was never due.
  if (sendAt !== null && sendAt <= (event?.createdAt ?? now)) add("due", sendAt)
  if (event !== null) {
    const failure = event.type === "message.failed" ? error : null
    add(endings[event.type], event.createdAt, { eventId: event.id, error: failure })
  }
  if (deliveredAt !== null) add("delivered", deliveredAt)
  if (readAt !== null) add("read", readAt)
  return steps
}

const attemptTypes: Readonly<Record<UnfinishedAttempt, Pick<TimelineEntry, "type" | "error">>> = {
  postponed: { type: "postponed", error: null },
  no_room: {
    type: "postponed",
    error: { code: "no_room", message: "The disk had no room for the file." },
  },
  no_file: {
    type: "postponed",
    error: { code: "media_unavailable", message: "The disk did not give the file." },
  },
  not_connected: {
    type: "attempt_refused",
    error: { code: "not_connected", message: "The number was not connected." },
  },
  new_chats_closed: {
    type: "attempt_refused",
    error: { code: "new_chats_closed", message: "The number may open no new chats." },
  },
  interrupted: { type: "attempt_interrupted", error: null },
}

const attemptEntry = ({ at, nextAttemptAt, unfinished }: StoredAttempt): TimelineEntry => ({
  ...blank,
  ...attemptTypes[unfinished],
  at,
  nextAttemptAt,
})

const deliveryEntry = (
  { attemptedAt, error, url, ...delivery }: TimelineDelivery,
  eventId: EventId | null,
  role: Role,
): TimelineEntry => ({
  ...blank,
  ...delivery,
  at: attemptedAt,
  type: "delivery",
  eventId,
  url: url && receiverUrlFor(role, url),
  error: error === null ? null : { code: error, message: null },
})

const byTime = (one: TimelineEntry, other: TimelineEntry): number =>
  one.at - other.at || timelineTypes.indexOf(one.type) - timelineTypes.indexOf(other.type)

/** Oldest first. Beyond the limit, the oldest attempts and deliveries are left out. */
export const timelineEntries = (
  facts: TimelineFacts,
  role: Role,
  now: number,
): { readonly entries: ReadonlyArray<TimelineEntry>; readonly truncated: boolean } => {
  const steps = toSteps(facts, now)
  const eventId = facts.event?.id ?? null
  const tries = [
    ...facts.attempts.map(attemptEntry),
    ...facts.deliveries.map((delivery) => deliveryEntry(delivery, eventId, role)),
  ].toSorted(byTime)
  const latest = tries.slice(-(timelineLimit - steps.length))
  return {
    entries: [...steps, ...latest].toSorted(byTime),
    truncated: latest.length < tries.length,
  }
}
