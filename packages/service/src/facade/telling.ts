/** How events reach a handler of the program, for listeners and subscriptions. */
import { reportedMessage, webhookEventTypes } from "@messaging-service/core"
import type { OutboxEvent, Refusal } from "@messaging-service/core"
import { Data, Effect } from "effect"
import type { MessageEvent, Messaging } from "../api/Messaging.ts"
import type { MessageEventType } from "../api/webhooks.ts"
import { messageReported } from "./records.ts"
import { isFunction, must, checkRule } from "./rules.ts"

/** The error that a handler threw or rejected with. */
class HandlerFailed extends Data.TaggedError("HandlerFailed")<{ readonly cause: unknown }> {
  override get message() {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}

/** An event's body, as its commit froze it. */
const toEvent = (event: OutboxEvent): MessageEvent => ({
  id: event.eventId,
  type: event.type,
  position: event.id,
  createdAt: new Date(event.createdAt),
  message: messageReported(reportedMessage(event.body), event),
})

/** Calls a handler for its events. */
export const notifying =
  (types: ReadonlyArray<MessageEventType>, handler: Parameters<Messaging["on"]>[1]) =>
  (event: OutboxEvent) =>
    types.includes(event.type)
      ? Effect.tryPromise({
          try: async () => handler(toEvent(event)),
          catch: (cause) => new HandlerFailed({ cause }),
        })
      : Effect.void

const eventTypes = must(
  `one or more of ${webhookEventTypes.join(", ")}`,
  (types) =>
    Array.isArray(types) &&
    types.length > 0 &&
    types.every((type) => (webhookEventTypes as ReadonlyArray<unknown>).includes(type)),
)

/** Problems with the types and the handler of a listener. */
export const wrongHandler = (types: unknown, handler: unknown): Refusal | undefined =>
  checkRule(eventTypes, types ?? null, "type") ??
  checkRule(must("a function", isFunction), handler ?? null, "handler")
