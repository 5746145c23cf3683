/** Delivers events to handlers of this process. */
import {
  EventFeed,
  reportedMessage,
  sleepInRealTime,
  webhookEventTypes,
} from "@messaging-service/core"
import type { OutboxEvent, Refusal, StoreUnavailable } from "@messaging-service/core"
import { Data, Deferred, Effect, Fiber, FiberSet } from "effect"
import type { Scope } from "effect"
import type { ListenOptions, MessageEvent, Messaging } from "../api/Messaging.ts"
import type { MessageEventType } from "../api/webhooks.ts"
import type { ComposedService } from "../compose/index.ts"
import { MessagingError } from "../MessagingError.ts"
import { errorOfRefusal } from "./Calls.ts"
import type { makeCalls } from "./Calls.ts"
import { messageReported } from "./records.ts"
import { fields, isFunction, must, refusalOf } from "./rules.ts"

/** The error that a handler threw or rejected with. */
class HandlerFailed extends Data.TaggedError("HandlerFailed")<{ readonly cause: unknown }> {
  override get message() {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}

/** An event's body, as its commit froze it. */
const eventOf = (event: OutboxEvent): MessageEvent => ({
  id: event.eventId,
  type: event.type,
  position: event.id,
  createdAt: new Date(event.createdAt),
  message: messageReported(reportedMessage(event.body), event),
})

/** Calls a handler for its events. */
const telling =
  (types: ReadonlyArray<MessageEventType>, handler: Parameters<Messaging["on"]>[1]) =>
  (event: OutboxEvent) =>
    types.includes(event.type)
      ? Effect.tryPromise({
          try: async () => handler(eventOf(event)),
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

const listenOptions = fields<ListenOptions>({
  after: must(
    "the position of an event, a whole number from 0",
    (after) => Number.isSafeInteger(after) && Number(after) >= 0,
  ),
})

/** Problems with the arguments of `on`: a listener that could never receive an event fails here. */
const wrongArgument = (types: unknown, handler: unknown, options: unknown): Refusal | undefined =>
  refusalOf(eventTypes, types ?? null, "type") ??
  refusalOf(must("a function", isFunction), handler ?? null, "handler") ??
  refusalOf(listenOptions, options)

/** How often to check whether listeners have received everything, in real time. */
const lookMillis = 5

/** Delay before asking an unresponsive store again where a listener begins, in real time. */
const pauseMillis = 1000

interface Listening {
  readonly on: Messaging["on"]
  /** Returns once every listener has received all earlier commits. */
  readonly caughtUp: Effect.Effect<void, StoreUnavailable>
}

/** A handler that calls a closing service fails at each event. */
const isRefused = (cause: unknown): boolean =>
  cause instanceof MessagingError && cause.code === "closed"

/**
 * Creates `on`. `holdUp` makes calls wait until a listener can receive their events; `whileTold` wraps
 * each handler call.
 */
export const makeListening = (
  { holdUp, isClosed }: Pick<ReturnType<typeof makeCalls>, "holdUp" | "isClosed">,
  whileTold: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E> = (effect) => effect,
): Effect.Effect<Listening, never, ComposedService | Scope.Scope> =>
  Effect.gen(function* () {
    const { end, follow } = yield* EventFeed
    const fork = yield* FiberSet.makeRuntime<ComposedService>()
    const context = yield* Effect.context<ComposedService>()
    const runPromise = Effect.runPromiseWith(context)

    /** Position of each listener that can receive more. */
    const positions = new Map<object, number>()

    const caughtUp = Effect.gen(function* caughtUp() {
      if (positions.size === 0) return
      const committed = yield* end
      while (Math.min(...positions.values()) < committed) yield* sleepInRealTime(lookMillis)
    })

    const on: Messaging["on"] = (type, handler, options) => {
      const types = typeof type === "string" ? [type] : type
      const wrong = wrongArgument(types, handler, options)
      if (wrong !== undefined) throw errorOfRefusal(wrong)
      const after = options?.after
      const handle = {}
      const tell = (event: OutboxEvent) =>
        Effect.tapError(whileTold(telling(types, handler)(event)), ({ cause }) =>
          Effect.sync(() => {
            if (isClosed() && isRefused(cause)) positions.delete(handle)
          }),
        )
      const listening = Deferred.makeUnsafe<void>()
      /**
       * Completes once it listens, or once the store first failed to answer. Other calls wait for this
       * and no longer: they detect an unresponsive store themselves.
       */
      const looked = Deferred.makeUnsafe<void>()
      const fiber = fork(
        Effect.gen(function* () {
          // Ask an unresponsive store again: the listener must not skip events meanwhile.
          const start =
            after ??
            (yield* Effect.eventually(
              Effect.tapError(end, () =>
                Effect.andThen(Deferred.succeed(looked, undefined), sleepInRealTime(pauseMillis)),
              ),
            ))
          positions.set(handle, start)
          yield* Deferred.succeed(looked, undefined)
          yield* Deferred.succeed(listening, undefined)
          return yield* follow(start, tell, ({ id }) => void positions.set(handle, id))
        }).pipe(
          Effect.ensuring(
            Effect.andThen(
              Effect.sync(() => positions.delete(handle)),
              Effect.andThen(
                Deferred.succeed(looked, undefined),
                Deferred.succeed(listening, undefined),
              ),
            ),
          ),
        ),
      )
      const ready = runPromise(Deferred.await(listening))
      holdUp(runPromise(Deferred.await(looked)))
      return {
        ready,
        stop: () => runPromise(Fiber.interrupt(fiber)),
      }
    }
    return { on, caughtUp }
  })
