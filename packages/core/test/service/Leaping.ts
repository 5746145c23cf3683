/** A clock that jumps forward and back while timers go on. */
import { Clock, Effect, Latch } from "effect"
import { RealTime } from "../../src/index.ts"

/** Moves the clock by so many milliseconds, back when negative. */
export type Leap = (millis: number) => Effect.Effect<void>

export const withLeaps = <A, E, R>(
  use: (leap: Leap) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const steady = yield* Clock.Clock
    const realTime = yield* RealTime
    const leaps = Latch.makeUnsafe(false)
    let leapt = 0
    const now = () => steady.currentTimeMillisUnsafe() + leapt
    const leap: Leap = (millis) =>
      Effect.suspend(() => {
        leapt += millis
        return millis > 0 ? Effect.asVoid(leaps.release) : Effect.void
      })
    return yield* use(leap).pipe(
      Effect.provideService(RealTime, { ...realTime, clockJumped: leaps.await }),
      Effect.provideService(Clock.Clock, {
        ...steady,
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
      }),
    )
  })
