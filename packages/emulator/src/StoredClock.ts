/**
 * The adjustable clock as a whole service shares it: its offset is kept in the store, so that it
 * outlives a restart and every process lives at the same time (`CLOCK=adjustable`; contract:
 * Configuration).
 */
import { ClockStore, RealTime } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Scheduler } from "effect"
import { makeAdjustableClock } from "./AdjustableClock.ts"
import { LocalRest, makeCountingScheduler } from "./LocalRest.ts"
import { MovableClock } from "./TimeTravel.ts"

/** So many times longer than `poll` the pauses between two looks become while time is not moved. */
const longestPause = 5

/** How much longer each of these pauses is than the one before. */
const growth = 1.2

export interface StoredClockOptions {
  /**
   * After how many real milliseconds to look again whether another process has moved time, where one has
   * just done so; null, the default, for never.
   */
  readonly poll?: number | null
  /**
   * The store answers within this process, without a socket or a thread. Then the scheduler knows whether
   * anything happens before time moves, and moving it needs no pauses. Default: false.
   */
  readonly isStoreInProcess?: boolean
}

/** Puts a clock with the stored offset in place of the present one, and makes it movable. */
export const layerStoredClock = ({
  isStoreInProcess = false,
  poll = null,
}: StoredClockOptions = {}): Layer.Layer<never, StoreUnavailable, ClockStore> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const store = yield* ClockStore
      const realTime = yield* RealTime
      const handle = makeAdjustableClock(yield* Clock.Clock, yield* store.offset)
      if (poll !== null) {
        let pause = poll
        const look = Effect.gen(function* () {
          const offset = yield* store.offset
          const isMoved = offset !== (yield* handle.offset)
          pause = isMoved ? poll : Math.min(pause * growth, poll * longestPause)
          yield* handle.setOffset(offset)
        })
        yield* look.pipe(
          // The next look may find the store answering again.
          Effect.ignore,
          Effect.andThen(Effect.suspend(() => realTime.sleep(pause))),
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
        nextDeferrable: handle.nextDeferrable,
      }
      const time = Context.make(Clock.Clock, handle.clock).pipe(Context.add(MovableClock, movable))
      if (!isStoreInProcess) return time
      const { rest, scheduler } = makeCountingScheduler()
      return time.pipe(Context.add(Scheduler.Scheduler, scheduler), Context.add(LocalRest, rest))
    }),
  )
