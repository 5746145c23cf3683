/** The worker of a process that embeds the service: running from the start, or for a drain alone. */
import { Settled, Worker, counted } from "@messaging-service/core"
import type { Failure, StoreUnavailable } from "@messaging-service/core"
import { sleepInRealTime } from "@messaging-service/core/ports"
import { Effect, Fiber } from "effect"
import type { DrainOptions, Drained } from "../api/Messaging.ts"
import type { CannotStart, ComposedService } from "../compose/index.ts"
import { fields, millis, refusalOf } from "./rules.ts"

/** How long a drain takes, when it is not told. */
const drainMillis = 20_000

const drainOptions = fields<DrainOptions>({ atMostMillis: millis })

export interface Work {
  readonly drain: (
    options?: DrainOptions,
  ) => Effect.Effect<Drained, Failure | CannotStart, ComposedService>
  /** Ends the worker; what is under way may end first. */
  readonly stop: Effect.Effect<void>
}

/**
 * Starts the worker, unless it is to run for drains alone. Then each of those asks first whether it may run,
 * which a running one was asked when the service was opened.
 */
export const startWork = (
  running: boolean,
  mayRun: Effect.Effect<void, StoreUnavailable | CannotStart, ComposedService>,
): Effect.Effect<Work, never, ComposedService> =>
  Effect.gen(function* () {
    const { run } = yield* Worker
    const context = yield* Effect.context<ComposedService>()
    const start = () => Effect.runForkWith(context)(run)
    const { settled } = yield* Settled
    /** The fiber of the loops, and how many need it. */
    let loops: Fiber.Fiber<never> | null = running ? start() : null
    let needed = running ? 1 : 0

    const need = Effect.sync(() => {
      needed++
      loops ??= start()
    })
    const needNoMore = Effect.suspend(() => {
      if (--needed > 0 || loops === null) return Effect.void
      const ending = loops
      loops = null
      return Fiber.interrupt(ending)
    })

    const drain = (options: DrainOptions | undefined) =>
      Effect.gen(function* () {
        const wrong = refusalOf(drainOptions, options)
        if (wrong !== undefined) return yield* wrong
        if (!running) yield* mayRun
        const atMostMillis = options?.atMostMillis ?? drainMillis
        const before = yield* counted
        const outcome = yield* Effect.acquireUseRelease(
          need,
          () =>
            Effect.raceFirst(
              Effect.map(settled, (nextDue) => ({ finished: true, nextDue })),
              Effect.as(sleepInRealTime(atMostMillis), { finished: false, nextDue: null }),
            ),
          // What is under way ends first, and counts.
          () => needNoMore,
        )
        const after = yield* counted
        return {
          sent: after.sent - before.sent,
          failed: after.failed - before.failed,
          cancelled: after.cancelled - before.cancelled,
          expired: after.expired - before.expired,
          delivered: after.delivered - before.delivered,
          notDelivered: after.notDelivered - before.notDelivered,
          finished: outcome.finished,
          nextDueAt: outcome.nextDue === null ? null : new Date(outcome.nextDue),
        }
      })

    return {
      drain,
      stop: Effect.suspend(() => {
        const ending = loops
        loops = null
        needed = 0
        return ending === null ? Effect.void : Fiber.interrupt(ending)
      }),
    }
  })
