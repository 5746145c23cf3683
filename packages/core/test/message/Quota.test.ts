import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { countExactly, dailyQuota, needsCount, quotaVerdict } from "../../src/model/Message.ts"
import type { PlannedQuota, QuotaFacts } from "../../src/model/Message.ts"

const day = 24 * 60 * 60 * 1000

/** The load of the fullest window that a message planned for then falls into, counted in full. */
const fullest = (times: ReadonlyArray<number>, plannedAt: number, windowMillis: number) => {
  let max = 0
  for (let end = plannedAt; end < plannedAt + windowMillis; end++) {
    let count = 0
    for (const time of times) if (end - windowMillis < time && time <= end) count++
    max = Math.max(max, count)
  }
  return max
}

const ascending = (times: ReadonlyArray<number>) => times.toSorted((a, b) => a - b)

describe("countExactly", () => {
  const limit = { messages: 3, windowMillis: day }
  const planned = (plannedAt: number, count = 1): PlannedQuota => ({ plannedAt, count, limit })

  it.effect("counts the fullest window that contains the planned time", () =>
    Effect.sync(() => {
      const times = [0, 1, day - 1, day, day + 1]
      assert.strictEqual(countExactly(times, planned(day)).planned, 3)
      assert.strictEqual(countExactly(times, planned(0)).planned, 3)
      assert.strictEqual(countExactly(times, planned(2 * day)).planned, 1)
      assert.strictEqual(countExactly(times, planned(3 * day)).planned, 0)
      assert.deepStrictEqual(countExactly([], planned(day)), { planned: 0, roomAt: day })
    }),
  )

  it.effect("a message leaves the window exactly 24 hours after its planned time", () =>
    Effect.sync(() => {
      assert.strictEqual(countExactly([5, 6, 7], planned(day + 4)).roomAt, day + 5)
      assert.strictEqual(countExactly([5, 6, 7], planned(day + 5)).roomAt, day + 5)
      assert.strictEqual(countExactly([5, 6, 7], planned(day, 3)).roomAt, day + 7)
    }),
  )

  it.effect("messages planned for later reserve their room", () =>
    Effect.sync(() => {
      const times = [0, 0, 0, day, day, day]
      assert.strictEqual(countExactly(times, planned(1)).roomAt, 2 * day)
      // Room until 24 hours before them, and not a moment longer.
      const later = [3 * day, 3 * day, 3 * day]
      assert.strictEqual(countExactly(later, planned(2 * day)).roomAt, 2 * day)
      assert.strictEqual(countExactly(later, planned(2 * day + 1)).roomAt, 4 * day)
    }),
  )

  it.effect("reads no further than it must", () =>
    Effect.sync(() => {
      const read: Array<number> = []
      const times = function* () {
        for (let time = 0; ; time += day) {
          read.push(time)
          yield time
        }
      }
      assert.deepStrictEqual(countExactly(times(), planned(day)), { planned: 1, roomAt: day })
      assert.deepStrictEqual(read, [0, day, 2 * day])
    }),
  )

  const Times = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))
  const Small = (minimum: number, maximum: number) =>
    Schema.Int.check(Schema.isBetween({ minimum, maximum }))

  it.effect.prop(
    "agrees with counting every window separately",
    [Times, Small(0, 60), Small(1, 4), Small(0, 4), Small(1, 20)],
    ([times, plannedAt, count, spare, windowMillis]) =>
      Effect.sync(() => {
        const messages = count + spare
        const query = { plannedAt, count, limit: { messages, windowMillis } }
        const exact = countExactly(ascending(times), query)
        assert.strictEqual(exact.planned, fullest(times, plannedAt, windowMillis))
        let roomAt = plannedAt
        while (fullest(times, roomAt, windowMillis) + count > messages) roomAt++
        assert.strictEqual(exact.roomAt, roomAt)
      }),
    { arbitrary: { runs: 2000 } },
  )

  it.effect.prop(
    "never overfills 24 hours, in whatever order messages are planned",
    [Schema.Array(Small(0, 40)), Small(1, 4), Small(1, 20)],
    ([expected, messages, windowMillis]) =>
      Effect.sync(() => {
        const accepted: Array<number> = []
        for (const plannedAt of expected) {
          const query = { plannedAt, count: 1, limit: { messages, windowMillis } }
          if (countExactly(ascending(accepted), query).planned < messages) accepted.push(plannedAt)
        }
        for (const time of accepted) {
          assert.isAtMost(fullest(accepted, time, windowMillis), messages)
        }
      }),
    { arbitrary: { runs: 1000 } },
  )

  it.effect("never grants more than the limit", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(countExactly([1], planned(1, 4)), { planned: 1, roomAt: null }),
    ),
  )
})

describe("quotaVerdict", () => {
  const now = 100 * day
  const planned = (count: number, plannedAt = now): PlannedQuota => ({
    plannedAt,
    count,
    limit: dailyQuota,
  })
  const fits = { _tag: "Fits" } as const
  const full = (room: number, roomAt: number | null) => ({ _tag: "Full", room, roomAt }) as const

  const verdicts: ReadonlyArray<
    readonly [
      what: string,
      facts: QuotaFacts,
      planned: PlannedQuota,
      verdict: ReturnType<typeof quotaVerdict>,
    ]
  > = [
    [
      "the 1,000th message fits",
      { bound: 1000, fullUntil: null, exact: { planned: 999, roomAt: now } },
      planned(1),
      fits,
    ],
    [
      "the 1,001st does not",
      { bound: 1000, fullUntil: null, exact: { planned: 1000, roomAt: now + 5 } },
      planned(1),
      full(0, now + 5),
    ],
    [
      "a list fits as a whole or not at all",
      { bound: 1000, fullUntil: null, exact: { planned: 1, roomAt: now + 5 } },
      planned(1000),
      full(999, now + 5),
    ],
    [
      "an exact count precedes the cached time",
      { bound: 1000, fullUntil: now + 5, exact: { planned: 0, roomAt: now } },
      planned(1),
      fits,
    ],
    [
      "without a count, messages planned before the cached time do not fit",
      { bound: 1000, fullUntil: now + 5, exact: null },
      planned(1, now + 4),
      full(0, now + 5),
    ],
    [
      "without a count, messages planned from the cached time on may fit",
      { bound: 1000, fullUntil: now + 5, exact: null },
      planned(1, now + 5),
      fits,
    ],
    [
      "without a count and a cached time it may fit",
      { bound: 5000, fullUntil: null, exact: null },
      planned(1),
      fits,
    ],
    [
      "more than the limit never fit",
      { bound: 0, fullUntil: null, exact: null },
      planned(1001),
      full(1000, null),
    ],
  ]
  it.effect.each(verdicts)("%s", ([, facts, query, verdict]) =>
    Effect.sync(() => assert.deepStrictEqual(quotaVerdict(facts, query), verdict)),
  )

  it.effect("the limit is 1,000 messages in 24 hours", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(dailyQuota, { messages: 1000, windowMillis: 86_400_000 }),
    ),
  )

  it.effect("counts only when the bound and the cache cannot decide", () =>
    Effect.sync(() => {
      const known = (bound: number, fullUntil: number | null = null) => ({
        bound,
        fullUntil,
        exact: null,
      })
      assert.isFalse(needsCount(known(999), planned(1)))
      assert.isTrue(needsCount(known(1000), planned(1)))
      assert.isFalse(needsCount(known(1000, now + 5), planned(1)))
      assert.isTrue(needsCount(known(1000, now + 5), planned(1, now + 5)))
      // The time until several messages fit exceeds what the cache holds.
      assert.isTrue(needsCount(known(1000, now + 5), planned(2)))
      assert.isTrue(needsCount(known(0), planned(1001)))
      const counted = { ...known(1000), exact: { planned: 1000, roomAt: now + 5 } }
      assert.isFalse(needsCount(counted, planned(1)))
    }),
  )
})
