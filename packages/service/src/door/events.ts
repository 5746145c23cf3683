/** Events told to handlers of this process. */
import { EventFeed } from "@messaging-service/core"
import type { MessageJson } from "@messaging-service/core"
import type { OutboxEvent } from "@messaging-service/core/ports"
import { Data, Deferred, Effect, Fiber, FiberSet } from "effect"
import type { Scope } from "effect"
import type { Messaging, MessageEvent } from "../api/Messaging.ts"
import type { MessageEventType } from "../api/webhooks.ts"
import type { ComposedService } from "../compose/index.ts"
import { messageOfEvent } from "./records.ts"

/** What a handler threw, or rejected with. */
class HandlerFailed extends Data.TaggedError("HandlerFailed")<{ readonly cause: unknown }> {
  override get message() {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}

/** An event's body, as it was frozen in its commit. */
const eventOf = (event: OutboxEvent): MessageEvent => {
  const { data } = JSON.parse(event.body) as { readonly data: { readonly message: MessageJson } }
  return {
    id: event.eventId,
    type: event.type,
    position: event.id,
    createdAt: new Date(event.createdAt),
    message: messageOfEvent(data.message, event),
  }
}

const told =
  (types: ReadonlyArray<MessageEventType>, handler: Parameters<Messaging["on"]>[1]) =>
  (event: OutboxEvent) =>
    types.includes(event.type)
      ? Effect.asVoid(
          Effect.tryPromise({
            try: async () => handler(eventOf(event)),
            catch: (cause) => new HandlerFailed({ cause }),
          }),
        )
      : Effect.void

/** Makes `on`. `holdUp` lets calls wait for what they are to be heard by. */
export const makeOn = (
  holdUp: (until: Promise<unknown>) => void,
): Effect.Effect<Messaging["on"], never, ComposedService | Scope.Scope> =>
  Effect.gen(function* () {
    const { end, follow } = yield* EventFeed
    const fork = yield* FiberSet.makeRuntime<ComposedService>()
    const context = yield* Effect.context<ComposedService>()
    const runPromise = Effect.runPromiseWith(context)

    return (type, handler, options) => {
      const types = typeof type === "string" ? [type] : type
      const after = options?.after
      const listening = Deferred.makeUnsafe<void>()
      const fiber = fork(
        Effect.gen(function* () {
          // A store that does not answer is asked again: nothing may be passed over meanwhile.
          const start =
            after ??
            (yield* Effect.eventually(Effect.tapError(end, () => Effect.sleep("1 seconds"))))
          yield* Deferred.succeed(listening, undefined)
          return yield* follow(start, told(types, handler))
        }).pipe(Effect.ensuring(Deferred.succeed(listening, undefined))),
      )
      const ready = runPromise(Deferred.await(listening))
      holdUp(ready)
      return {
        ready,
        stop: () => runPromise(Fiber.interrupt(fiber)),
      }
    }
  })
