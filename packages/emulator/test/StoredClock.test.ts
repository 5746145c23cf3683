import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { MovableClock } from "../src/index.ts"
import { layerStoredClock } from "../src/AdjustableClock.ts"
import { storeWith } from "@messaging-service/testkit"

/** A store with an offset that other processes can raise too. */
const aStore = (start: number) => {
  const stored = { offset: start, checks: 0 }
  const layer = storeWith({
    system: {
      clockOffset: Effect.sync(() => {
        stored.checks++
        return stored.offset
      }),
      raiseClockOffset: (to) => Effect.sync(() => (stored.offset = Math.max(stored.offset, to))),
      databaseTime: Effect.succeed(null),
      ping: Effect.void,
    },
  })
  return { stored, layer }
}

describe("layerStoredClock", () => {
  it.effect("starts at the stored offset", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Clock.currentTimeMillis, 5000)
    }).pipe(Effect.provide(Layer.provide(layerStoredClock(), aStore(5000).layer))),
  )

  it.effect("moving time is stored, wakes sleepers, and never goes back", () => {
    const { stored, layer } = aStore(5000)
    return Effect.gen(function* () {
      const clock = yield* MovableClock
      assert.isNotNull(clock)
      const latch = yield* Effect.forkChild(Effect.sleep(3000))
      yield* Effect.yieldNow
      assert.strictEqual(yield* clock.nextWake, 8000)
      yield* clock.moveTo(8000)
      yield* Fiber.join(latch)
      assert.strictEqual(yield* Clock.currentTimeMillis, 8000)
      assert.strictEqual(stored.offset, 8000)
      yield* clock.moveTo(6000)
      assert.strictEqual(yield* Clock.currentTimeMillis, 8000)
      assert.strictEqual(stored.offset, 8000)
    }).pipe(Effect.provide(Layer.provide(layerStoredClock(), layer)))
  })

  it.effect("moving time on starts where another process has moved it", () => {
    const { stored, layer } = aStore(0)
    return Effect.gen(function* () {
      const clock = yield* MovableClock
      stored.offset = 9000
      yield* clock?.moveTo(1000) ?? Effect.void
      assert.strictEqual(yield* Clock.currentTimeMillis, 9000)
    }).pipe(Effect.provide(Layer.provide(layerStoredClock(), layer)))
  })

  it.effect("with a poll, time moves here when another process moves it", () =>
    Effect.gen(function* () {
      const { stored, layer } = aStore(0)
      const system = yield* Clock.Clock
      yield* Effect.gen(function* () {
        stored.offset = 60_000
        yield* TestClock.adjust(100).pipe(Effect.provideService(Clock.Clock, system))
        assert.strictEqual(yield* Clock.currentTimeMillis, 60_100)
      }).pipe(Effect.provide(Layer.provide(layerStoredClock({ poll: 100 }), layer)))
    }),
  )

  it.effect("polls less often while time is not moved, and soon again once it is", () =>
    Effect.gen(function* () {
      const { stored, layer } = aStore(0)
      const system = yield* Clock.Clock
      const looksIn = Effect.fnUntraced(function* (millis: number) {
        const before = stored.checks
        yield* TestClock.adjust(millis).pipe(Effect.provideService(Clock.Clock, system))
        return stored.checks - before
      })
      yield* Effect.gen(function* () {
        yield* looksIn(5000)
        assert.strictEqual(yield* looksIn(10_000), 20)
        stored.offset = 60_000
        yield* looksIn(500)
        assert.strictEqual(yield* Clock.currentTimeMillis, 75_500)
        assert.isAtLeast(yield* looksIn(500), 3)
      }).pipe(Effect.provide(Layer.provide(layerStoredClock({ poll: 100 }), layer)))
    }),
  )
})
