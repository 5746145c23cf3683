import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  dayStart,
  minuteStart,
  ratePolicy,
  rateRefusal,
  rateState,
  requestsPerDay,
  requestsPerMinute,
  wrongKeysPerMinute,
} from "../../src/model/Auth.ts"
import type { RateState } from "../../src/model/Auth.ts"

const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute
/** 2026-03-02T12:34:56.789Z */
const now = Date.UTC(2026, 2, 2, 12, 34, 56, 789)

describe("the rate windows of a key", () => {
  it.effect("are fixed: the minute starts on the clock minute, the day at 00:00 UTC", () =>
    Effect.sync(() => {
      assert.strictEqual(minuteStart(now), Date.UTC(2026, 2, 2, 12, 34))
      assert.strictEqual(minuteStart(Date.UTC(2026, 2, 2, 12, 34)), Date.UTC(2026, 2, 2, 12, 34))
      assert.strictEqual(dayStart(now), Date.UTC(2026, 2, 2))
      assert.strictEqual(dayStart(Date.UTC(2026, 2, 2)), Date.UTC(2026, 2, 2))
      assert.strictEqual(dayStart(Date.UTC(2026, 2, 2) - 1), Date.UTC(2026, 2, 1))
    }),
  )

  it.effect.prop(
    "cover every moment, before 1970 too",
    [Schema.Int.check(Schema.isBetween({ minimum: -(10 ** 13), maximum: 10 ** 13 }))],
    ([instant]) =>
      Effect.sync(() => {
        for (const [start, length] of [
          [minuteStart(instant), minute],
          [dayStart(instant), day],
        ] as const) {
          assert.strictEqual(Math.abs(start % length), 0)
          assert.isAtMost(start, instant)
          assert.isAbove(start + length, instant)
        }
      }),
  )

  it.effect("allow 60 requests a minute, 10,000 a day, and 30 wrong keys a minute", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        [requestsPerMinute, requestsPerDay, wrongKeysPerMinute],
        [60, 10_000, 30],
      )
      assert.strictEqual(ratePolicy, "60;w=60, 10000;w=86400")
    }),
  )
})

describe("RateLimit-*", () => {
  const untilMinute = 4
  const untilDay = 11 * 3600 + 25 * 60 + 4
  const states: ReadonlyArray<
    readonly [what: string, count: { minute: number; day: number }, state: RateState]
  > = [
    [
      "the first request of a window shows 59 left",
      { minute: 1, day: 1 },
      { limit: 60, remaining: 59, reset: untilMinute, exceeded: false },
    ],
    [
      "the 60th passes and shows none left",
      { minute: 60, day: 60 },
      { limit: 60, remaining: 0, reset: untilMinute, exceeded: false },
    ],
    [
      "the 61st is over the limit",
      { minute: 61, day: 61 },
      { limit: 60, remaining: 0, reset: untilMinute, exceeded: true },
    ],
    [
      "the 10,000th of the day passes",
      { minute: 1, day: 10_000 },
      { limit: 60, remaining: 59, reset: untilMinute, exceeded: false },
    ],
    [
      "shows the day's limit once that refuses",
      { minute: 1, day: 10_001 },
      { limit: 10_000, remaining: 0, reset: untilDay, exceeded: true },
    ],
    [
      "over both limits shows the day's, which lasts longer",
      { minute: 61, day: 10_061 },
      { limit: 10_000, remaining: 0, reset: untilDay, exceeded: true },
    ],
  ]
  it.effect.each(states)("%s", ([, count, state]) =>
    Effect.sync(() => assert.deepStrictEqual(rateState(count, now), state)),
  )

  it.effect("resets in whole seconds until the window restarts, never 0", () =>
    Effect.sync(() => {
      const reset = (at: number) => rateState({ minute: 1, day: 1 }, at).reset
      const start = minuteStart(now)
      assert.strictEqual(reset(start), 60)
      assert.strictEqual(reset(start + 1), 60)
      assert.strictEqual(reset(start + 59 * second), 1)
      assert.strictEqual(reset(start + minute - 1), 1)
    }),
  )
})

describe("rate_limited", () => {
  it.effect("is 429, and Retry-After equals RateLimit-Reset", () =>
    Effect.sync(() => {
      for (const count of [
        { minute: 61, day: 61 },
        { minute: 1, day: 10_001 },
      ]) {
        const state = rateState(count, now)
        const refusal = rateRefusal(state)
        assert.deepStrictEqual(
          [refusal?.code, refusal?.status, refusal?.retryAfter],
          ["rate_limited", 429, state.reset],
        )
      }
    }),
  )

  it.effect("is not returned within the limits", () =>
    Effect.sync(() => assert.isUndefined(rateRefusal(rateState({ minute: 60, day: 10_000 }, now)))),
  )
})
