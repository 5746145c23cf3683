import { assert, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeReceivingPace } from "../../src/service/ReceivingPace.ts"

/** Takes without an end; answers when each was taken. */
const taking = Effect.gen(function* () {
  const take = makeReceivingPace()
  const times: Array<number> = []
  const all = Effect.gen(function* () {
    while (true) {
      yield* take
      times.push(yield* Clock.currentTimeMillis)
    }
  })
  yield* Effect.forkScoped(all)
  return times
})

const second = 1000

/** In steps, so that what sleeps shorter wakes in time. */
const pass = (seconds: number) =>
  Effect.gen(function* () {
    for (let passed = 0; passed < seconds; passed += 10) yield* TestClock.adjust("10 seconds")
  })

it.effect("a number takes 500 messages in any 10 seconds", () =>
  Effect.gen(function* () {
    const times = yield* taking
    yield* pass(30)
    assert.strictEqual(times.length, 2000)
    assert.deepStrictEqual(
      [0, 499, 500, 1499, 1500].map((index) => times[index]),
      [0, 0, 10 * second, 20 * second, 30 * second],
    )
  }),
)

it.effect("a number takes 20,000 messages in any hour", () =>
  Effect.gen(function* () {
    const times = yield* taking
    yield* pass(3590)
    assert.strictEqual(times.length, 20_000)
    yield* pass(10)
    assert.isAbove(times.length, 20_000)
    assert.strictEqual(times[20_000], 3600 * second)
  }),
)

it.effect("a clock that is set back delays messages by a span at most", () =>
  Effect.gen(function* () {
    const take = makeReceivingPace()
    yield* TestClock.setTime(1_000_000)
    for (let count = 0; count < 500; count++) yield* take
    yield* TestClock.setTime(0)
    const next = yield* Effect.forkChild(take)
    yield* TestClock.adjust(10 * second)
    assert.isDefined(next.pollUnsafe())
    yield* Fiber.join(next)
  }),
)
