import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { countExactly, dailyQuota, quotaVerdict } from "../../src/message/Quota.ts"
import type { PlannedQuota, QuotaFacts } from "../../src/message/Quota.ts"

const day = 24 * 60 * 60 * 1000

/** Messages in (plannedAt - window, plannedAt], counted one by one. */
const counted = (times: ReadonlyArray<number>, at: number, windowMillis: number) => {
  let count = 0
  for (const time of times) if (at - windowMillis < time && time <= at) count++
  return count
}

describe("countExactly", () => {
  const limit = { messages: 3, windowMillis: day }
  const planned = (plannedAt: number, count = 1): PlannedQuota => ({ plannedAt, count, limit })

  it.effect("counts after 24 hours before the planned time, up to and including it", () =>
    Effect.sync(() => {
      const times = [0, 1, day - 1, day, day + 1]
      assert.strictEqual(countExactly(times, planned(day)).planned, 3)
      assert.strictEqual(countExactly(times, planned(0)).planned, 1)
      assert.strictEqual(countExactly(times, planned(day - 1)).planned, 3)
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

  it.effect("messages planned for later keep the room that they will need", () =>
    Effect.sync(() => {
      // The window of any time from day on holds the three that are planned for then.
      assert.strictEqual(countExactly([0, 0, 0, day, day, day], planned(1)).roomAt, 2 * day)
    }),
  )

  const Times = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))
  const Small = (minimum: number, maximum: number) =>
    Schema.Int.check(Schema.isBetween({ minimum, maximum }))

  it.effect.prop(
    "agrees with trying every planned time one after the other",
    [Times, Small(0, 60), Small(1, 4), Small(0, 4), Small(1, 20)],
    ([times, plannedAt, count, spare, windowMillis]) =>
      Effect.sync(() => {
        const messages = count + spare
        const exact = countExactly(times, {
          plannedAt,
          count,
          limit: { messages, windowMillis },
        })
        assert.strictEqual(exact.planned, counted(times, plannedAt, windowMillis))
        let roomAt = plannedAt
        while (counted(times, roomAt, windowMillis) + count > messages) roomAt++
        assert.strictEqual(exact.roomAt, roomAt)
      }),
    { arbitrary: { runs: 1000 } },
  )

  it.effect.prop(
    "does not depend on the order of the planned times",
    [Times, Small(0, 60)],
    ([times, plannedAt]) =>
      Effect.sync(() => {
        const query = { plannedAt, count: 1, limit: { messages: 2, windowMillis: 10 } }
        assert.deepStrictEqual(countExactly(times.toReversed(), query), countExactly(times, query))
      }),
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
  const full = (roomAt: number | null) => ({ _tag: "Full", roomAt }) as const

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
      full(now + 5),
    ],
    [
      "a list that does not fit whole does not fit",
      { bound: 1000, fullUntil: null, exact: { planned: 1, roomAt: now + 5 } },
      planned(1000),
      full(now + 5),
    ],
    [
      "an exact count outweighs the moment that was remembered",
      { bound: 1000, fullUntil: now + 5, exact: { planned: 0, roomAt: now } },
      planned(1),
      fits,
    ],
    [
      "without a count, what is planned before the remembered moment does not fit",
      { bound: 1000, fullUntil: now + 5, exact: null },
      planned(1, now + 4),
      full(now + 5),
    ],
    [
      "without a count, what is planned from the remembered moment on may fit",
      { bound: 1000, fullUntil: now + 5, exact: null },
      planned(1, now + 5),
      fits,
    ],
    [
      "without a count and without a remembered moment it may fit",
      { bound: 5000, fullUntil: null, exact: null },
      planned(1),
      fits,
    ],
    [
      "more than the limit at once never fit",
      { bound: 0, fullUntil: null, exact: null },
      planned(1001),
      full(null),
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
})
