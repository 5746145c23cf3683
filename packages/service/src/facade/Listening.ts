/** Delivers events to handlers of this process. */
import { EventFeed, sleepInRealTime } from "@messaging-service/core"
import type { OutboxEvent, Refusal, StoreUnavailable } from "@messaging-service/core"
import { Deferred, Effect, Fiber, FiberSet } from "effect"
import type { Scope } from "effect"
import type { ListenOptions, Messaging } from "../api/Messaging.ts"
import type { ComposedService } from "../compose/index.ts"
import { MessagingError } from "../MessagingError.ts"
import { errorOfRefusal } from "./Calls.ts"
import type { makeCalls } from "./Calls.ts"
import { notifying, wrongHandler } from "./telling.ts"
import { fields, must, checkRule } from "./rules.ts"

const listenOptions = fields<ListenOptions>({
  after: must(
    "the position of an event, a whole number from 0",
    (after) => Number.isSafeInteger(after) && Number(after) >= 0,
  ),
})

/** Problems with the arguments of `on`: a listener that could never receive an event fails here. */
const wrongArgument = (types: unknown, handler: unknown, options: unknown): Refusal | undefined =>
  wrongHandler(types, handler) ?? checkRule(listenOptions, options)

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
      const notify = (event: OutboxEvent) =>
        Effect.tapError(whileTold(notifying(types, handler)(event)), ({ cause }) =>
          Effect.sync(() => {
            if (isClosed() && isRefused(cause)) positions.delete(handle)
          }),
        )
      const listening = Deferred.makeUnsafe<void>()
      /**
       * Completes once it listens, or once the store first failed to answer. Other calls wait for this
       * and no longer: they detect an unresponsive store themselves.
       */
      const checked = Deferred.makeUnsafe<void>()
      const fiber = fork(
        Effect.gen(function* () {
          // Ask an unresponsive store again: the listener must not skip events meanwhile.
          const start =
            after ??
            (yield* Effect.eventually(
              Effect.tapError(end, () =>
                Effect.andThen(Deferred.succeed(checked, undefined), sleepInRealTime(pauseMillis)),
              ),
            ))
          positions.set(handle, start)
          yield* Deferred.succeed(checked, undefined)
          yield* Deferred.succeed(listening, undefined)
          return yield* follow(start, notify, ({ id }) => void positions.set(handle, id))
        }).pipe(
          Effect.ensuring(
            Effect.andThen(
              Effect.sync(() => positions.delete(handle)),
              Effect.andThen(
                Deferred.succeed(checked, undefined),
                Deferred.succeed(listening, undefined),
              ),
            ),
          ),
        ),
      )
      const ready = runPromise(Deferred.await(listening))
      holdUp(runPromise(Deferred.await(checked)))
      return {
        ready,
        stop: () => runPromise(Fiber.interrupt(fiber)),
      }
    }
    return { on, caughtUp }
  })
