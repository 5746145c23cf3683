/** The worker of a process that embeds the service: it runs from the start, or only for a drain. */
import { counted, RealTime, IdleMonitor, sleepInRealTime, Worker } from "@messaging-service/core"
import type { Failure, StoreUnavailable } from "@messaging-service/core"
import type { CannotStart } from "@messaging-service/node"
import { Effect, Fiber, Latch } from "effect"
import type { Drained, DrainOptions } from "../api/Messaging.ts"
import type { ComposedService } from "../compose/index.ts"
import { fields, millis, checkRule } from "./rules.ts"

/** Default duration of a drain. */
const drainMillis = 20_000

const drainOptions = fields<DrainOptions>({ atMostMillis: millis })

/** How long an overrunning effect may take to end after interruption: its database may be frozen. */
export const cutOffMillis = 1000

/**
 * The exit of an effect; null when it takes longer than `atMost` in real time. The effect then
 * continues in the background.
 */
export const exitWithin = <A, E, R>(atMost: number, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.forkDetach(effect), (fiber) =>
    Effect.raceFirst(Fiber.await(fiber), Effect.as(sleepInRealTime(atMost), null)),
  )

interface Work {
  readonly drain: (
    options?: DrainOptions,
  ) => Effect.Effect<Drained, Failure | CannotStart, ComposedService>
  /** Ends the worker; running work may finish first. */
  readonly stop: Effect.Effect<void>
}

/** The worker's loops, which run while anything needs them. */
interface Loops {
  readonly acquire: Effect.Effect<void>
  readonly release: Effect.Effect<void>
  /** Ends them permanently; running work may finish first. */
  readonly stop: Effect.Effect<void>
  /** Returns once they have ended permanently. */
  readonly stopped: Effect.Effect<void>
}

const makeLoops = (
  start: () => Fiber.Fiber<never>,
  running: boolean,
  stopMillis: number,
): Loops => {
  const stopping = Latch.makeUnsafe(false)
  const stopped = Latch.makeUnsafe(false)
  let loops: Fiber.Fiber<never> | null = running ? start() : null
  let needed = running ? 1 : 0
  return {
    acquire: Effect.sync(() => {
      needed++
      if (!stopping.isOpen()) loops ??= start()
    }),
    release: Effect.suspend(() => {
      if (--needed > 0 || loops === null) return Effect.void
      const ending = loops
      loops = null
      // An unresponsive store must not delay the drain.
      return exitWithin(stopMillis + cutOffMillis, Fiber.interrupt(ending))
    }),
    stop: Effect.suspend(() => {
      stopping.openUnsafe()
      const ending = loops
      loops = null
      return Effect.andThen(ending === null ? Effect.void : Fiber.interrupt(ending), stopped.open)
    }),
    stopped: stopped.await,
  }
}

/** The value of an effect that ends before `over` does; null otherwise. */
const unlessOver = <A, E, R>(effect: Effect.Effect<A, E, R>, over: Effect.Effect<null>) =>
  Effect.gen(function* () {
    const exit = yield* Effect.acquireUseRelease(
      Effect.forkDetach(effect),
      (fiber) => Effect.raceFirst(Fiber.await(fiber), over),
      (fiber) => Effect.sync(() => fiber.interruptUnsafe()),
    )
    return exit === null ? null : { found: yield* exit }
  })

/** Runs due work for as long as the options allow, and counts the results. */
const drainWith = (
  { acquire: need, release: needNoMore, stopped }: Loops,
  settled: (typeof IdleMonitor.Service)["settled"],
  /** Null where the loops already run. */
  mayRun: Effect.Effect<void, StoreUnavailable | CannotStart, ComposedService> | null,
) =>
  Effect.fnUntraced(function* (options: DrainOptions | undefined) {
    const wrong = checkRule(drainOptions, options)
    if (wrong !== undefined) return yield* wrong
    const { stopwatch } = yield* RealTime
    const since = yield* stopwatch
    const atMostMillis = options?.atMostMillis ?? drainMillis
    const left = Effect.suspend(() => sleepInRealTime(Math.max(0, atMostMillis - since())))
    // `over` also completes when the service closes.
    const over = Effect.as(Effect.raceFirst(left, stopped), null)
    const before = yield* counted
    const mayNow = mayRun === null ? { found: undefined } : yield* unlessOver(mayRun, over)
    const outcome =
      mayNow === null
        ? null
        : // What is under way ends first, and counts.
          yield* Effect.acquireUseRelease(
            need,
            () => unlessOver(settled, over),
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
      finished: outcome !== null,
      nextDueAt: outcome === null || outcome.found === null ? null : new Date(outcome.found),
    }
  })

/**
 * Starts the worker, unless it runs for drains alone. Each of those first checks whether it may run;
 * `open` has checked that for a running worker.
 */
export const startWork = (
  running: boolean,
  mayRun: Effect.Effect<void, StoreUnavailable | CannotStart, ComposedService>,
  stopMillis: number,
): Effect.Effect<Work, never, ComposedService> =>
  Effect.gen(function* () {
    const { run } = yield* Worker
    const context = yield* Effect.context<ComposedService>()
    const { settled } = yield* IdleMonitor
    const loops = makeLoops(() => Effect.runForkWith(context)(run), running, stopMillis)
    return {
      drain: drainWith(loops, settled, running ? null : mayRun),
      stop: loops.stop,
    }
  })
