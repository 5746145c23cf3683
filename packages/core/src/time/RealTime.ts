/**
 * Waiting that is bound to real seconds and not to the service's clock: the five seconds of a
 * cancel, the slow poll of an idle worker, the time-outs of network calls. With an adjustable clock
 * the two differ; under the test clock both are the test's.
 */
import { Clock, Context, Effect } from "effect"
import type { Duration } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"

export interface RealTime {
  readonly sleep: (duration: Duration.Input) => Effect.Effect<void>
  /**
   * Starts a stopwatch, which tells the milliseconds since then: rather too many than too few, also
   * where the process or its machine was paused meanwhile, or its clock was set.
   */
  readonly stopwatch: Effect.Effect<() => number>
  /**
   * Ends once the clock is further on than timers know, because it was set forward or the machine was
   * paused: what sleeps until a moment sleeps too long by then.
   */
  readonly untilLeap: Effect.Effect<void>
  /** The system clock in epoch milliseconds, without the offset of an adjustable clock. */
  readonly systemMillis: Effect.Effect<number>
}

/** Defaults to the current `Clock`, so that a test clock governs it too. */
export const RealTime = /*#__PURE__*/ Context.Reference<RealTime>("core/RealTime", {
  defaultValue: () => ({
    sleep: Effect.sleep,
    stopwatch: Clock.clockWith((clock) =>
      Effect.sync(() => {
        const start = clock.currentTimeMillisUnsafe()
        return () => clock.currentTimeMillisUnsafe() - start
      }),
    ),
    untilLeap: Effect.never,
    systemMillis: Clock.currentTimeMillis,
  }),
})

/**
 * Whether what sleeps has nothing to do by its moment: an adjustable clock that is moved on does not stop
 * there. The sleep still ends once that moment has passed.
 */
export const DeferrableSleep = /*#__PURE__*/ Context.Reference<boolean>("core/DeferrableSleep", {
  defaultValue: () => false,
})

/** Sleeps in real time. */
export const sleep = (duration: Duration.Input): Effect.Effect<void> =>
  Effect.flatMap(RealTime, (realTime) => realTime.sleep(duration))

/** See `RealTime.untilLeap`. */
export const untilLeap: Effect.Effect<void> = Effect.flatMap(RealTime, (time) => time.untilLeap)

/** The port that keeps the adjustable clock's offset, and tells the store's time and whether it answers. */
export class ClockStore extends Context.Service<
  ClockStore,
  {
    /** Milliseconds that service time is ahead of system time. */
    offset: Effect.Effect<number, StoreUnavailable>
    /** Raises the offset; it never goes back. Returns the one then in force. */
    raiseOffset(to: number): Effect.Effect<number, StoreUnavailable>
    /**
     * The store's own time in epoch milliseconds, read when it answers; null for a store inside this
     * process, which has no other clock than the system's.
     */
    databaseTime: Effect.Effect<number | null, StoreUnavailable>
    /** Answers when the store does. */
    ping: Effect.Effect<void, StoreUnavailable>
  }
>()("core/ClockStore") {}
