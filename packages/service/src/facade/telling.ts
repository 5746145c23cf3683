/** How events reach a handler of the program, for listeners and subscriptions. */
import {
  eventTypes,
  gapEventType,
  isReceivedEvent,
  numberEventTypes,
  reportedGap,
  reportedMessage,
  reportedNumber,
  reportedReaction,
  reportedReceived,
  reportedRestrictions,
  restrictionEventTypes,
} from "@messaging-service/core"
import type { OutboxEvent, Refusal } from "@messaging-service/core"
import { Data, Effect } from "effect"
import type { ReactionEvent, ServiceEvent } from "../api/Messaging.ts"
import type { EventType, NumberEventType, RestrictionEventType } from "../api/webhooks.ts"
import { messageReported, receivedReported, restrictionsShown } from "./records.ts"
import { isFunction, must, checkRule } from "./rules.ts"

/** The error that a handler threw or rejected with. */
class HandlerFailed extends Data.TaggedError("HandlerFailed")<{ readonly cause: unknown }> {
  override get message() {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}

const isNumberEvent = (type: EventType): type is NumberEventType =>
  (numberEventTypes as ReadonlyArray<EventType>).includes(type)

const isRestrictionEvent = (type: EventType): type is RestrictionEventType =>
  (restrictionEventTypes as ReadonlyArray<EventType>).includes(type)

const reactionReported = (
  event: Omit<OutboxEvent, "eventId" | "id">,
): Pick<ReactionEvent, "reaction" | "receivedMessage" | "message"> => {
  const { reaction, received } = reportedReaction(event.body)
  return {
    reaction: { ...reaction, at: new Date(reaction.at) },
    receivedMessage: received && receivedReported(received),
    message: received === null ? messageReported(reportedMessage(event.body), event) : null,
  }
}

/** An event's body, as its commit froze it. */
const toEvent = ({ eventId, id, ...event }: OutboxEvent): ServiceEvent => {
  const { createdAt, workspaceId } = event
  const shared = { id: eventId, position: id, workspaceId, createdAt: new Date(createdAt) }
  if (event.type === gapEventType) {
    const { from, until, ...gap } = reportedGap(event.body)
    const times = { from: new Date(from), until: new Date(until) }
    return { ...shared, type: event.type, gap: { ...gap, ...times } }
  }
  if (event.type === "message.reaction") {
    return { ...shared, type: event.type, ...reactionReported(event) }
  }
  if (isNumberEvent(event.type)) {
    const { since, ...reported } = reportedNumber(event.body)
    return { ...shared, type: event.type, ...reported, since: new Date(since) }
  }
  if (isRestrictionEvent(event.type)) {
    const { number, restrictions } = reportedRestrictions(event.body)
    return { ...shared, type: event.type, number, restrictions: restrictionsShown(restrictions) }
  }
  if (isReceivedEvent(event.type)) {
    const receivedMessage = receivedReported(reportedReceived(event.body))
    return { ...shared, type: event.type, receivedMessage }
  }
  return {
    ...shared,
    type: event.type,
    message: messageReported(reportedMessage(event.body), event),
  }
}

/** Calls a handler for its events. */
export const notifying =
  <Type extends EventType>(
    types: ReadonlyArray<Type>,
    handler: (event: ServiceEvent<Type>) => unknown,
  ) =>
  (event: OutboxEvent) =>
    (types as ReadonlyArray<EventType>).includes(event.type)
      ? Effect.tryPromise({
          try: async () => handler(toEvent(event) as ServiceEvent<Type>),
          catch: (cause) => new HandlerFailed({ cause }),
        })
      : Effect.void

const typesRule = must(
  `one or more of ${eventTypes.join(", ")}`,
  (types) =>
    Array.isArray(types) &&
    types.length > 0 &&
    types.every((type) => (eventTypes as ReadonlyArray<unknown>).includes(type)),
)

/** Problems with the types and the handler of a listener. */
export const wrongHandler = (types: unknown, handler: unknown): Refusal | undefined =>
  checkRule(typesRule, types ?? null, "type") ??
  checkRule(must("a function", isFunction), handler ?? null, "handler")
