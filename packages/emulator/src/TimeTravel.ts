/**
 * Moving the service's time on from due moment to due moment, working off at each what fell due
 * (`clock/advance`; contract: Emulator controls).
 */
import { refuse } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import { Clock, Context, Effect } from "effect"
import { Idle } from "./Idle.ts"

/** The clock's handle, when it can be moved. */
export interface MovableClock {
  /** Moves service time to `moment` (epoch milliseconds), never back. */
  moveTo(moment: number): Effect.Effect<void, StoreUnavailable>
  /** The earliest moment until which something in this process sleeps that has work by then; null for none. */
  readonly nextWake: Effect.Effect<number | null>
  /** The same of what only tidies up. */
  readonly nextDeferrable: Effect.Effect<number | null>
}

/** Null when the clock is the system's. */
export const MovableClock = Context.Reference<MovableClock | null>("emulator/MovableClock", {
  defaultValue: () => null,
})

/** Makes what moves the time on by so many milliseconds. It fails with `clock_not_adjustable`. */
export const timeTravel = Effect.gen(function* () {
  const idle = yield* Idle
  const clock = yield* MovableClock

  return Effect.fn("Emulator.timeTravel")(function* (millis: number) {
    if (clock === null) return yield* refuse("clock_not_adjustable")
    const target = (yield* Clock.currentTimeMillis) + millis
    // What has happened is tidied up after once; beyond that housekeeping is no reason to stop.
    let isTidied = false
    for (;;) {
      const due = yield* idle.stalled
      const wake = yield* clock.nextWake
      const tidies = isTidied ? null : yield* clock.nextDeferrable
      const now = yield* Clock.currentTimeMillis
      if (now >= target) return
      const reach = (moment: number | null) => (moment === null || moment <= now ? target : moment)
      // System time passes too: what has fallen due meanwhile is worked off first.
      const worked = Math.min(target, due === null ? target : Math.max(now, due), reach(wake))
      const next = Math.min(worked, reach(tidies))
      isTidied = next < worked
      yield* clock.moveTo(next)
    }
  })
})
