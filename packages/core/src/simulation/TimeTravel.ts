/**
 * Moving the service's time on from due moment to due moment, working off at each what fell due
 * (operator API: clock/advance).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Calm } from "./Calm.ts"

/** The clock's handle, when it can be moved. */
export interface MovableClock {
  /** Moves service time to `moment` (epoch milliseconds), never back. */
  moveTo(moment: number): Effect.Effect<void, StoreUnavailable>
  /** The earliest moment that something in this process sleeps until; null when nothing does. */
  readonly nextWake: Effect.Effect<number | null>
}

/** Null when the clock is the system's. */
export const MovableClock = Context.Reference<MovableClock | null>("core/MovableClock", {
  defaultValue: () => null,
})

export class TimeTravel extends Context.Service<
  TimeTravel,
  {
    /** Fails with `clock_not_adjustable`. */
    advance(millis: number): Effect.Effect<void, Refusal | StoreUnavailable>
  }
>()("core/TimeTravel") {
  static readonly layer = Layer.effect(
    TimeTravel,
    Effect.gen(function* () {
      const calm = yield* Calm
      const clock = yield* MovableClock

      const advance = Effect.fn("TimeTravel.advance")(function* (millis: number) {
        if (clock === null) return yield* refuse("clock_not_adjustable")
        const target = (yield* Clock.currentTimeMillis) + millis
        yield* calm.stalled
        for (;;) {
          const now = yield* Clock.currentTimeMillis
          if (now >= target) return
          const moments = [yield* calm.nextDue, yield* clock.nextWake].filter(
            (moment) => moment !== null && moment > now,
          )
          const next = Math.min(target, ...moments.filter((moment) => moment !== null))
          yield* clock.moveTo(next)
          yield* calm.stalled
        }
      })

      return TimeTravel.of({ advance })
    }),
  )
}
