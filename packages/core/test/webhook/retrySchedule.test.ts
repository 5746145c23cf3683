import { assert, describe, it } from "@effect/vitest"
import { hour, minute, noon, second } from "@messaging-service/testkit/world"
import { Effect, Schema } from "effect"
import { nextAttemptAt, parseRetryAfter, retryDelaysMillis } from "../../src/worker/Deliverer.ts"

const delayAfter = (attempt: number, retryAfterMillis: number | null = null, chance = 0) => {
  const next = nextAttemptAt(
    { attempt, failedAt: noon, retryAfterMillis, chance },
    retryDelaysMillis,
  )
  return next === null ? null : next - noon
}

describe("the retry schedule", () => {
  it.effect("nine attempts: 5 s, 55 s, 4 min, 25 min, 1 h 30 min, 4 h, 7 h, 10 h", () =>
    Effect.sync(() => {
      const delays = Array.from({ length: 9 }, (_, index) => delayAfter(index + 1))
      assert.deepStrictEqual(delays, [
        5 * second,
        55 * second,
        4 * minute,
        25 * minute,
        90 * minute,
        4 * hour,
        7 * hour,
        10 * hour,
        null,
      ])
    }),
  )

  it.effect("spans 23 h", () =>
    Effect.sync(() => {
      const sum = retryDelaysMillis.reduce((total, delay) => total + delay, 0)
      assert.strictEqual(sum, 23 * hour)
    }),
  )

  it.effect.prop(
    "adds up to 5 % of jitter, never subtracts",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })),
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.999 })),
    ],
    ([attempt, chance]) =>
      Effect.sync(() => {
        const usual = retryDelaysMillis[attempt - 1] ?? 0
        const delay = delayAfter(attempt, null, chance) ?? 0
        assert.isAtLeast(delay, usual)
        assert.isAtMost(delay, usual * 1.05)
      }),
  )

  it.effect("`Retry-After` lengthens a delay, at most to twice its length", () =>
    Effect.sync(() => {
      assert.strictEqual(delayAfter(1, 3 * second), 5 * second)
      assert.strictEqual(delayAfter(1, 8 * second), 8 * second)
      assert.strictEqual(delayAfter(1, hour), 10 * second)
      assert.strictEqual(delayAfter(8, 100 * hour), 20 * hour)
      assert.isNull(delayAfter(9, hour))
    }),
  )
})

describe("Retry-After", () => {
  it.effect.each([
    ["120", 2 * minute],
    [" 7 ", 7 * second],
    ["0", 0],
    ["Mon, 02 Mar 2026 12:00:30 GMT", 30 * second],
    ["Monday, 02-Mar-26 12:01:00 GMT", minute],
  ] as const)("accepts %s as a wait", ([text, millis]) =>
    Effect.sync(() => assert.strictEqual(parseRetryAfter(text, noon), millis)),
  )

  it.effect.each([
    undefined,
    "",
    "-1",
    "1.5",
    "soon",
    "2026-03-02T12:00:30Z",
    "Mon, 02 Mar 2026 11:59:59 GMT",
    "Mon, 99 Mar 2026 12:00:30 GMT",
  ])("ignores %s", (text) => Effect.sync(() => assert.isNull(parseRetryAfter(text, noon))))
})
