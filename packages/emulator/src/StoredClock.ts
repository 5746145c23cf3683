/**
 * The adjustable clock as a whole service shares it: its offset is kept in the store, so that it
 * outlives a restart and every process lives at the same time (`CLOCK=adjustable`; contract:
 * Configuration).
 */
import { ClockStore, RealTime } from "@messaging-service/core/ports"
import type { StoreUnavailable } from "@messaging-service/core/ports"
import { Clock, Context, Effect, Layer } from "effect"
import type { Duration } from "effect"
import { makeAdjustableClock } from "./AdjustableClock.ts"
import { MovableClock } from "./TimeTravel.ts"

/**
 * Puts a clock with the stored offset in place of the present one, and makes it movable. `poll`: how
 * often, in real time, to look whether another process has moved time; null, the default, for never.
 */
export const layerStoredClock = (
  { poll }: { readonly poll: Duration.Input | null } = { poll: null },
): Layer.Layer<never, StoreUnavailable, ClockStore> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const store = yield* ClockStore
      const realTime = yield* RealTime
      const handle = makeAdjustableClock(yield* Clock.Clock, yield* store.offset)
      if (poll !== null) {
        yield* store.offset.pipe(
          Effect.flatMap(handle.setOffset),
          // The next look may find the store answering again.
          Effect.ignore,
          Effect.andThen(realTime.sleep(poll)),
          Effect.forever,
          Effect.forkScoped,
        )
      }
      const movable: MovableClock = {
        moveTo: Effect.fn("MovableClock.moveTo")(function* (moment: number) {
          const ahead = moment - (yield* handle.clock.currentTimeMillis)
          const offset = yield* store.raiseOffset((yield* handle.offset) + Math.max(0, ahead))
          yield* handle.setOffset(offset)
        }),
        nextWake: handle.nextWake,
      }
      return Context.make(Clock.Clock, handle.clock).pipe(Context.add(MovableClock, movable))
    }),
  )
