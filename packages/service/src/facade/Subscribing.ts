/** Delivers events to the handlers of named subscriptions. */
import { EventFeed, sleepInRealTime } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Cause, Deferred, Effect, Fiber, FiberSet, Latch, Option } from "effect"
import type { Scope } from "effect"
import type { Messaging } from "../api/Messaging.ts"
import type { EventType } from "../api/webhooks.ts"
import type { ComposedService } from "../compose/index.ts"
import { errorOfRefusal } from "./Calls.ts"
import type { makeCalls } from "./Calls.ts"
import { isText, must, checkRule } from "./rules.ts"
import { notifying, wrongHandler } from "./telling.ts"

const nameRule = must(
  "1 to 100 characters, not all of them blank",
  (name) => isText(name) && name.trim() !== "" && [...name].length <= 100,
)

/** How often to check whether a handler has ended, in real time. */
const lookMillis = 5

interface Subscribing {
  readonly subscribe: Messaging["subscribe"]
  /** Returns once no handler runs; a closing service starts none. */
  readonly idle: Effect.Effect<void>
}

/** Creates `subscribe`. `whileTold` wraps each handler call. */
export const makeSubscribing = (
  { holdUp, isClosed }: Pick<ReturnType<typeof makeCalls>, "holdUp" | "isClosed">,
  whileTold: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E> = (effect) => effect,
): Effect.Effect<Subscribing, never, ComposedService | Scope.Scope> =>
  Effect.gen(function* () {
    const feed = yield* EventFeed
    const fork = yield* FiberSet.makeRuntime<ComposedService>()
    const runPromise = Effect.runPromiseWith(yield* Effect.context<ComposedService>())
    const handlers = { running: 0 }
    /** `idle` is closed while the handler runs. */
    const counted = <A, E>(notify: Effect.Effect<A, E>, idle: Latch.Latch) =>
      Effect.acquireUseRelease(
        Effect.andThen(
          Effect.sync(() => void handlers.running++),
          idle.close,
        ),
        () => whileTold(notify),
        () =>
          Effect.andThen(
            Effect.sync(() => void handlers.running--),
            idle.open,
          ),
      )
    const atRest = Effect.gen(function* atRest() {
      while (handlers.running > 0) yield* sleepInRealTime(lookMillis)
    })

    const subscribe: Messaging["subscribe"] = (name, type, handler) => {
      const types = typeof type === "string" ? [type] : type
      const wrong = checkRule(nameRule, name ?? null, "name") ?? wrongHandler(types, handler)
      if (wrong !== undefined) throw errorOfRefusal(wrong)
      const notify = notifying(types, handler)
      const known = Deferred.makeUnsafe<void, Refusal>()
      const idle = Latch.makeUnsafe(true)
      let isStopped = false
      const subscribing = feed.subscribe(name, {
        concerns: (event) => (types as ReadonlyArray<EventType>).includes(event.type),
        // The next process gets what a closing one does not begin.
        listener: (event) =>
          Effect.suspend(() =>
            isStopped || isClosed() ? Effect.never : counted(notify(event), idle),
          ),
        known: Effect.asVoid(Deferred.succeed(known, undefined)),
      })
      const fiber = fork(
        subscribing.pipe(
          Effect.tapError((refusal) => Effect.logError("a subscription was refused", refusal)),
          Effect.onError((cause) => Deferred.failCause(known, cause)),
        ),
      )
      const ready = runPromise(
        Effect.matchCause(Deferred.await(known), {
          onFailure: (cause) => Option.getOrNull(Cause.findErrorOption(cause)),
          onSuccess: () => null,
        }),
      ).then((refusal) => (refusal === null ? undefined : Promise.reject(errorOfRefusal(refusal))))
      // A program that does not wait for it finds the refusal in the log.
      holdUp(ready.catch(() => undefined))
      const stop = async () => {
        isStopped = true
        const ending = Effect.andThen(idle.await, Fiber.interrupt(fiber))
        // A handler may wait for it: the name goes to the next process once that handler has ended.
        await runPromise(idle.isOpen() ? ending : Effect.forkDetach(ending))
      }
      return { ready, stop }
    }
    return { idle: atRest, subscribe }
  })
