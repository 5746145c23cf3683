/**
 * Service time that can be moved on: system time plus an offset (`CLOCK=adjustable`; contract:
 * Configuration). A sleep ends when service time reaches its moment, by the passing of system time or a
 * raised offset. Timeouts of network calls and everything else bound to real seconds use `RealTime` instead.
 */
import { DeferrableSleep, RealTime, refuse, Store } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import { Clock, Context, Duration, Effect, Latch, Layer, Scheduler } from "effect"
import { Idle, LocalRest, makeCountingScheduler } from "./IdleMonitor.ts"

export interface AdjustableClock {
  readonly clock: Clock.Clock
  /** Milliseconds that service time is ahead of system time. */
  readonly offset: Effect.Effect<number>
  /**
   * Raises the offset. That wakes at once every sleeper that is due, in the order of their
   * moments. A smaller value changes nothing: time never goes back. Returns the offset then in force.
   */
  setOffset(millis: number): Effect.Effect<number>
  /**
   * The moment of the earliest sleeper that is not deferrable, in epoch milliseconds; null when there is
   * none.
   */
  readonly nextWake: Effect.Effect<number | null>
  /** The same of the deferrable ones. */
  readonly nextDeferrable: Effect.Effect<number | null>
}

interface Sleeper {
  readonly instant: number
  readonly isDeferrable: boolean
  readonly latch: Latch.Latch
}

/** A clock that is `startOffset` milliseconds ahead of `system`. */
export const makeAdjustableClock = (system: Clock.Clock, startOffset: number): AdjustableClock => {
  let offset = startOffset
  /** By moment, and in order of arrival where moments are equal. */
  const sleepers: Array<Sleeper> = []

  const now = () => system.currentTimeMillisUnsafe() + offset
  const offsetNanos = () => BigInt(Math.round(offset * 1_000_000))
  const wallNanos = () => system.currentTimeNanosUnsafe() + offsetNanos()
  const monotonicNanos = () => system.monotonicTimeNanosUnsafe() + offsetNanos()

  const lieDown = (instant: number, isDeferrable: boolean): Sleeper => {
    const sleeper: Sleeper = { instant, isDeferrable, latch: Latch.makeUnsafe() }
    const later = sleepers.findIndex((other) => other.instant > instant)
    sleepers.splice(later === -1 ? sleepers.length : later, 0, sleeper)
    return sleeper
  }

  const getFirst = (deferrable: boolean): number | null =>
    sleepers.find(({ isDeferrable }) => isDeferrable === deferrable)?.instant ?? null

  const getUp = (sleeper: Sleeper): void => {
    const index = sleepers.indexOf(sleeper)
    if (index !== -1) sleepers.splice(index, 1)
  }

  // Checks again each time: the offset may have brought the moment only nearer, a timer may fire early, and
  // system time may be set back.
  const untilMoment = (sleeper: Sleeper): Effect.Effect<void> =>
    Effect.suspend(() => {
      const left = sleeper.instant - now()
      if (left <= 0) return Effect.void
      sleeper.latch.closeUnsafe()
      return Effect.raceFirst(sleeper.latch.await, system.sleep(Duration.millis(left))).pipe(
        Effect.andThen(untilMoment(sleeper)),
      )
    })

  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: wallNanos,
    currentTimeNanos: Effect.sync(wallNanos),
    monotonicTimeNanosUnsafe: monotonicNanos,
    monotonicTimeNanos: Effect.sync(monotonicNanos),
    sleep: (duration) => {
      const millis = Duration.toMillis(duration)
      if (millis <= 0) return Effect.yieldNow
      if (!Number.isFinite(millis)) return Effect.never
      return Effect.acquireUseRelease(
        Effect.map(DeferrableSleep, (isDeferrable) => lieDown(now() + millis, isDeferrable)),
        untilMoment,
        (sleeper) => Effect.sync(() => getUp(sleeper)),
      )
    },
  }

  return {
    clock,
    offset: Effect.sync(() => offset),
    setOffset: (millis) =>
      Effect.sync(() => {
        if (millis <= offset) return offset
        offset = millis
        const present = now()
        const ahead = sleepers.findIndex(({ instant }) => instant > present)
        const due = sleepers.splice(0, ahead === -1 ? sleepers.length : ahead)
        // Sleepers still ahead wake only to sleep for the shorter rest.
        for (const sleeper of [...due, ...sleepers]) sleeper.latch.openUnsafe()
        return offset
      }),
    nextWake: Effect.sync(() => getFirst(false)),
    nextDeferrable: Effect.sync(() => getFirst(true)),
  }
}

// Moves the service's time from due moment to due moment, and finishes the due work at each (`clock/advance`;
// contract: Emulator controls).

/** The clock's handle, when it can be moved. */
export interface MovableClock {
  /** Moves service time to `instant` (epoch milliseconds), never back. */
  moveTo(instant: number): Effect.Effect<void, StoreUnavailable>
  /** The earliest end of a sleep in this process that has work then; null for none. */
  readonly nextWake: Effect.Effect<number | null>
  /** The same for mere tidying. */
  readonly nextDeferrable: Effect.Effect<number | null>
}

/** Null when the clock is the system's. */
export const MovableClock = Context.Reference<MovableClock | null>("emulator/MovableClock", {
  defaultValue: () => null,
})

/** Makes the function that moves time on by so many milliseconds. It fails with `clock_not_adjustable`. */
export const timeTravel = Effect.gen(function* timeTravel() {
  const idle = yield* Idle
  const clock = yield* MovableClock

  return Effect.fn("Emulator.timeTravel")(function* (millis: number) {
    if (clock === null) return yield* refuse("clock_not_adjustable")
    const target = (yield* Clock.currentTimeMillis) + millis
    // Tidies up once afterwards; housekeeping is otherwise not a reason to stop.
    let isTidied = false
    for (;;) {
      const due = yield* idle.stalled
      const wake = yield* clock.nextWake
      const tidies = isTidied ? null : yield* clock.nextDeferrable
      const now = yield* Clock.currentTimeMillis
      if (now >= target) return
      const reach = (instant: number | null) =>
        instant === null || instant <= now ? target : instant
      // System time passes too: first finishes what has fallen due meanwhile.
      const worked = Math.min(target, due === null ? target : Math.max(now, due), reach(wake))
      const next = Math.min(worked, reach(tidies))
      isTidied = next < worked
      yield* clock.moveTo(next)
    }
  })
})

// The adjustable clock of a whole service: its offset is kept in the store, so it survives a restart and all
// processes share one time (`CLOCK=adjustable`; contract: Configuration).

/** How many times longer than `poll` the pauses between polls become while time is not moved. */
const longestPause = 5

/** The growth factor of these pauses. */
const growth = 1.2

interface StoredClockOptions {
  /**
   * After how many real milliseconds to check again whether another process has moved time, right after a
   * move. Default: null, for never.
   */
  readonly poll?: number | null
  /**
   * The store answers within this process, without a socket or a thread. Then the scheduler knows whether
   * anything happens before time moves, and moving it needs no pauses. Default: false.
   */
  readonly isStoreInProcess?: boolean
}

/** Replaces the clock by a movable one with the stored offset. */
export const layerStoredClock = ({
  isStoreInProcess = false,
  poll = null,
}: StoredClockOptions = {}): Layer.Layer<never, StoreUnavailable, Store> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const store = (yield* Store).system
      const realTime = yield* RealTime
      const handle = makeAdjustableClock(yield* Clock.Clock, yield* store.clockOffset)
      if (poll !== null) {
        let pause = poll
        const check = Effect.gen(function* check() {
          const offset = yield* store.clockOffset
          const isMoved = offset !== (yield* handle.offset)
          pause = isMoved ? poll : Math.min(pause * growth, poll * longestPause)
          yield* handle.setOffset(offset)
        })
        yield* check.pipe(
          // The next poll may find the store answering again.
          Effect.ignore,
          Effect.andThen(Effect.suspend(() => realTime.sleep(pause))),
          Effect.forever,
          Effect.forkScoped,
        )
      }
      const movable: MovableClock = {
        moveTo: Effect.fn("MovableClock.moveTo")(function* moveTo(instant: number) {
          const ahead = instant - (yield* handle.clock.currentTimeMillis)
          const offset = yield* store.raiseClockOffset((yield* handle.offset) + Math.max(0, ahead))
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
