/**
 * Service time that can be moved on: system time plus an offset (`CLOCK=adjustable`; contract:
 * Configuration). A sleep ends when service time reaches its moment, be it because system time
 * passed or because the offset was raised. Time-outs of network calls and all else that is bound to
 * real seconds run on `RealTime` instead.
 */
import { DeferrableSleep } from "@messaging-service/core"
import { Duration, Effect, Latch } from "effect"
import type { Clock } from "effect"

export interface AdjustableClock {
  readonly clock: Clock.Clock
  /** Milliseconds that service time is ahead of system time. */
  readonly offset: Effect.Effect<number>
  /**
   * Raises the offset, which wakes at once every sleeper whose moment is reached, in the order of
   * their moments. A smaller value than the present one changes nothing: time never goes back.
   * Returns the offset then in force.
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
  readonly moment: number
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

  const lieDown = (moment: number, isDeferrable: boolean): Sleeper => {
    const sleeper: Sleeper = { moment, isDeferrable, latch: Latch.makeUnsafe() }
    const later = sleepers.findIndex((other) => other.moment > moment)
    sleepers.splice(later === -1 ? sleepers.length : later, 0, sleeper)
    return sleeper
  }

  const firstOf = (deferrable: boolean): number | null =>
    sleepers.find(({ isDeferrable }) => isDeferrable === deferrable)?.moment ?? null

  const getUp = (sleeper: Sleeper): void => {
    const index = sleepers.indexOf(sleeper)
    if (index !== -1) sleepers.splice(index, 1)
  }

  // Looks again each time: the offset may have brought the moment only nearer, a timer may fire early,
  // and system time may be set back.
  const untilMoment = (sleeper: Sleeper): Effect.Effect<void> =>
    Effect.suspend(() => {
      const left = sleeper.moment - now()
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
        const ahead = sleepers.findIndex(({ moment }) => moment > present)
        const due = sleepers.splice(0, ahead === -1 ? sleepers.length : ahead)
        // Those still ahead wake only to sleep on for the rest, which has become shorter.
        for (const sleeper of [...due, ...sleepers]) sleeper.latch.openUnsafe()
        return offset
      }),
    nextWake: Effect.sync(() => firstOf(false)),
    nextDeferrable: Effect.sync(() => firstOf(true)),
  }
}
