import { assert, describe, it } from "@effect/vitest"
import { DeferrableSleep } from "@messaging-service/core"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeAdjustableClock } from "../src/AdjustableClock.ts"
import type { AdjustableClock } from "../src/AdjustableClock.ts"

const hour = 3_600_000

/** Under a clock over the test clock, which is system time here and moves only on command. */
const underAdjustableClock = <A, E, R>(run: (handle: AdjustableClock) => Effect.Effect<A, E, R>) =>
  Effect.clockWith((system) => {
    const handle = makeAdjustableClock(system, 2 * hour)
    return Effect.provideService(run(handle), Clock.Clock, handle.clock)
  })

/** Runs the fibers that can run. */
const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("AdjustableClock", () => {
  it.effect("time is system time plus an offset", () =>
    underAdjustableClock((handle) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Clock.currentTimeMillis, 2 * hour)
        assert.strictEqual(yield* Clock.currentTimeNanos, BigInt(2 * hour) * 1_000_000n)
        assert.strictEqual(yield* Clock.monotonicTimeNanos, BigInt(2 * hour) * 1_000_000n)
        yield* handle.setOffset(3 * hour)
        assert.strictEqual(yield* Clock.currentTimeMillis, 3 * hour)
        assert.strictEqual(yield* handle.offset, 3 * hour)
      }),
    ),
  )

  it.effect("moves on with system time", () =>
    Effect.gen(function* () {
      const handle = makeAdjustableClock(yield* Clock.Clock, 500)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* handle.clock.currentTimeMillis, 1500)
    }),
  )

  it.effect("the offset never goes back", () =>
    underAdjustableClock((handle) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* handle.setOffset(hour), 2 * hour)
        assert.strictEqual(yield* Clock.currentTimeMillis, 2 * hour)
      }),
    ),
  )

  it.effect(
    "a raised offset wakes the fibers that are due, in the order of their moments, and no other",
    () =>
      underAdjustableClock((handle) =>
        Effect.gen(function* () {
          const woken: Array<string> = []
          const latch = (name: string, millis: number) =>
            Effect.sleep(millis).pipe(
              Effect.andThen(Clock.currentTimeMillis),
              Effect.tap((now) => Effect.sync(() => woken.push(`${name} at ${now - 2 * hour}`))),
              Effect.forkChild,
            )
          yield* latch("third", 3000)
          yield* latch("first", 1000)
          yield* latch("fourth", 3001)
          yield* latch("second", 2000)
          yield* latch("third too", 3000)
          yield* settle
          yield* handle.setOffset(2 * hour + 999)
          yield* settle
          assert.deepStrictEqual(woken, [])
          yield* handle.setOffset(2 * hour + 3000)
          yield* settle
          assert.deepStrictEqual(woken, [
            "first at 3000",
            "second at 3000",
            "third at 3000",
            "third too at 3000",
          ])
          yield* handle.setOffset(2 * hour + 3001)
          yield* settle
          assert.strictEqual(woken.at(-1), "fourth at 3001")
        }),
      ),
  )

  it.effect("system time wakes a latch too, as much earlier as the offset was raised", () =>
    Effect.gen(function* () {
      const handle = makeAdjustableClock(yield* Clock.Clock, 0)
      const done = yield* Deferred.make<void>()
      yield* Effect.sleep("10 seconds").pipe(
        Effect.provideService(Clock.Clock, handle.clock),
        Effect.andThen(Deferred.succeed(done, undefined)),
        Effect.forkChild,
      )
      yield* settle
      yield* handle.setOffset(4000)
      yield* TestClock.adjust("5999 millis")
      assert.isFalse(yield* Deferred.isDone(done))
      yield* TestClock.adjust("1 millis")
      assert.isTrue(yield* Deferred.isDone(done))
    }),
  )

  it.effect("nextWake is the earliest latch's moment, and null when no fiber sleeps", () =>
    underAdjustableClock((handle) =>
      Effect.gen(function* () {
        assert.isNull(yield* handle.nextWake)
        const late = yield* Effect.forkChild(Effect.sleep(5000))
        const early = yield* Effect.forkChild(Effect.sleep(3000))
        const never = yield* Effect.forkChild(Effect.sleep(Infinity))
        yield* settle
        assert.strictEqual(yield* handle.nextWake, 2 * hour + 3000)
        yield* Fiber.interrupt(early)
        assert.strictEqual(yield* handle.nextWake, 2 * hour + 5000)
        yield* handle.setOffset(2 * hour + 5000)
        yield* Fiber.join(late)
        assert.isNull(yield* handle.nextWake)
        yield* Fiber.interrupt(never)
      }),
    ),
  )

  it.effect("a deferrable sleep is no reason to stop, and ends when time has passed it", () =>
    underAdjustableClock((handle) =>
      Effect.gen(function* () {
        const tidying = yield* Effect.forkChild(
          Effect.provideService(Effect.sleep(1000), DeferrableSleep, true),
        )
        const working = yield* Effect.forkChild(Effect.sleep(5000))
        yield* settle
        assert.strictEqual(yield* handle.nextWake, 2 * hour + 5000)
        assert.strictEqual(yield* handle.nextDeferrable, 2 * hour + 1000)
        yield* handle.setOffset(2 * hour + 5000)
        yield* Fiber.joinAll([tidying, working])
      }),
    ),
  )

  it.effect("a timeout follows service time", () =>
    underAdjustableClock((handle) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.never.pipe(Effect.timeoutOption("1 minute"), Effect.forkChild)
        yield* settle
        yield* handle.setOffset(2 * hour + 60_000)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "None")
      }),
    ),
  )
})
