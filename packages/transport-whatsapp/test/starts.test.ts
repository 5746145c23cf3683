/** How fast numbers are connected that are all to be connected at once. */
import { assert, it } from "@effect/vitest"
import { Effect, Semaphore } from "effect"
import { TestClock } from "effect/testing"
import { takePlace } from "../src/OpenSession.ts"
import { defaultSettings } from "../src/settings.ts"

it.effect("500 numbers are not connected in one second, however fast each of them is", () =>
  Effect.gen(function* () {
    const { startsAtOnce } = defaultSettings
    const starts = yield* Semaphore.make(startsAtOnce)
    let connected = 0
    const connect = Effect.scoped(
      Effect.gen(function* () {
        const leavePlace = yield* takePlace(starts)
        connected++
        yield* leavePlace
        return yield* Effect.never
      }),
    )
    yield* Effect.forEach(Array.from({ length: 500 }), () => Effect.forkChild(connect))
    yield* TestClock.adjust("1 second")
    assert.isAtMost(connected, 60)
    assert.isAtLeast(connected, 30)
    yield* TestClock.adjust("20 seconds")
    assert.strictEqual(connected, 500)
  }),
)

it.effect("a place whose connection breaks off is free for the next one", () =>
  Effect.gen(function* () {
    const starts = yield* Semaphore.make(1)
    const connect = Effect.scoped(Effect.asVoid(takePlace(starts)))
    yield* connect
    const next = yield* Effect.forkChild(connect)
    yield* TestClock.adjust("1 second")
    assert.isDefined(next.pollUnsafe())
  }),
)
