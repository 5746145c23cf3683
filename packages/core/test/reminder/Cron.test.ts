import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { parseCron } from "../../src/model/Cron.ts"
import type { CronProblem } from "../../src/model/Cron.ts"

/** Wall times of a pattern from the start of a day. */
const wallTimes = (text: string, from: string, count: number): ReadonlyArray<string> => {
  const cron = Result.getOrThrow(parseCron(text))
  const found: Array<string> = []
  let wall: number | undefined = Date.parse(`${from}T00:00Z`) - 1
  while (found.length < count) {
    wall = cron.wallTimeAfter(wall)
    if (wall === undefined) break
    found.push(new Date(wall).toISOString().slice(0, 16))
  }
  return found
}

const accepted = [
  "* * * * *",
  "0 9 * * *",
  "0 8,20 * * *",
  "0 9 * * 1-5",
  "*/15 * * * *",
  "1-30/5 * * * *",
  "*/15,7 * * * *",
  "*,5 * * * *",
  "5,5 * * * *",
  "0-30,15-45 * * * *",
  "*/90 * * * *",
  "00 08 01 01 00",
  "0 0 * JAN *",
  "0 0 * jan,Feb,mAr,APR,may,jun,jul,aug,sep,oct,nov,dec *",
  "0 0 * jan-dec/3 *",
  "0 0 * 1-mar *",
  "0 0 * * SUN-sat",
  "0 0 * * mon,wed-Fri",
  "0 0 * * 7",
  "0 0 * * 0,7",
  "0 0 * * 0-7",
  "0 0 * * 5-7",
  "0 0 * * mon-sun",
  "0 0 * * FRI-SUN/2",
  "0 0 * * sun-sun",
  "0 0 * * 7-sun",
  "0 0 29 2 *",
  "0 0 31 1,4 *",
  "0 0 30 2 1",
  "0 0 30 2 */2",
  "59 23 31 12 6",
]

const refused: ReadonlyArray<readonly [text: string, problem: CronProblem]> = [
  ["", "not_five_fields"],
  ["*", "not_five_fields"],
  ["* * * *", "not_five_fields"],
  ["0 * * * * *", "not_five_fields"],
  ["0 0 * * * 2026", "not_five_fields"],
  ["@daily", "not_five_fields"],
  ["@reboot", "not_five_fields"],
  ["@every 5m", "not_five_fields"],
  ["0\t9\t*\t*\t*", "not_five_fields"],
  ["0  9 * *", "hour"],
  ["0  9 * * *", "not_five_fields"],
  [" 0 9 * * *", "not_five_fields"],
  ["0 9 * * * ", "not_five_fields"],
  ["0 9 * * *\n", "day_of_week"],
  ["0 9 *\u00a0* *", "not_five_fields"],
  ["60 * * * *", "minute"],
  ["-1 * * * *", "minute"],
  ["1.5 * * * *", "minute"],
  ["1e1 * * * *", "minute"],
  ["0x10 * * * *", "minute"],
  ["+5 * * * *", "minute"],
  ["\u0665 * * * *", "minute"],
  ["a * * * *", "minute"],
  ["jan * * * *", "minute"],
  ["5/15 * * * *", "minute"],
  ["30-10 * * * *", "minute"],
  ["50-60 * * * *", "minute"],
  ["1-2-3 * * * *", "minute"],
  ["1- * * * *", "minute"],
  ["-5 * * * *", "minute"],
  ["*-5 * * * *", "minute"],
  ["*/0 * * * *", "minute"],
  ["0-30/0 * * * *", "minute"],
  ["*/ * * * *", "minute"],
  ["*/-5 * * * *", "minute"],
  ["*/5/5 * * * *", "minute"],
  ["/5 * * * *", "minute"],
  ["** * * * *", "minute"],
  ["*5 * * * *", "minute"],
  [", * * * *", "minute"],
  ["1, * * * *", "minute"],
  [",1 * * * *", "minute"],
  ["1,,2 * * * *", "minute"],
  ["? * * * *", "minute"],
  ["H * * * *", "minute"],
  ["~ * * * *", "minute"],
  ["0 24 * * *", "hour"],
  ["0 22-2 * * *", "hour"],
  ["0 8/4 * * *", "hour"],
  ["0 8; * * *", "hour"],
  ["0 0 0 * *", "day_of_month"],
  ["0 0 32 * *", "day_of_month"],
  ["0 0 L * *", "day_of_month"],
  ["0 0 L-3 * *", "day_of_month"],
  ["0 0 15W * *", "day_of_month"],
  ["0 0 LW * *", "day_of_month"],
  ["0 0 ? * 1", "day_of_month"],
  ["0 0 mon * *", "day_of_month"],
  ["0 0 * 0 *", "month"],
  ["0 0 * 13 *", "month"],
  ["0 0 * january *", "month"],
  ["0 0 * ja *", "month"],
  ["0 0 * mon *", "month"],
  ["0 0 * nov-feb *", "month"],
  ["0 0 * jan/2 *", "month"],
  ["0 0 * * 8", "day_of_week"],
  ["0 0 * * monday", "day_of_week"],
  ["0 0 * * jan", "day_of_week"],
  ["0 0 * * fri-mon", "day_of_week"],
  ["0 0 * * sat-0", "day_of_week"],
  ["0 0 * jun-jan *", "month"],
  ["0 0 * * 5L", "day_of_week"],
  ["0 0 * * L", "day_of_week"],
  ["0 0 * * 1#2", "day_of_week"],
  ["0 0 * * ?", "day_of_week"],
  ["0 0 * * 7-1", "day_of_week"],
  ["0 0 * * mon/2", "day_of_week"],
  ["0 0 30 2 *", "never_runs"],
  ["0 0 30,31 2 *", "never_runs"],
  ["0 0 31 4,jun,9,11 *", "never_runs"],
  ["0 0 31 2-2 *", "never_runs"],
  ["*/5 * 30 feb *", "never_runs"],
  [`${"1,".repeat(600)}1 * * * *`, "too_long"],
]

const days: ReadonlyArray<
  readonly [rule: string, text: string, from: string, found: ReadonlyArray<string>]
> = [
  [
    "a list and a range are their values, in order",
    "30,0 9-10 * * *",
    "2026-01-01",
    ["2026-01-01T09:00", "2026-01-01T09:30", "2026-01-01T10:00", "2026-01-01T10:30"],
  ],
  [
    "a step in a range counts from the range's first value",
    "1-30/12 0 * * *",
    "2026-01-01",
    ["2026-01-01T00:01", "2026-01-01T00:13", "2026-01-01T00:25", "2026-01-02T00:01"],
  ],
  [
    "a starred step counts from the field's first value",
    "0 0 */10 * *",
    "2026-02-01",
    ["2026-02-01T00:00", "2026-02-11T00:00", "2026-02-21T00:00", "2026-03-01T00:00"],
  ],
  [
    "a starred step longer than the field leaves its first value",
    "*/90 9 * * *",
    "2026-01-01",
    ["2026-01-01T09:00", "2026-01-02T09:00"],
  ],
  ["0 is Sunday", "0 0 * * 0", "2026-01-01", ["2026-01-04T00:00", "2026-01-11T00:00"]],
  ["7 is Sunday", "0 0 * * 7", "2026-01-01", ["2026-01-04T00:00", "2026-01-11T00:00"]],
  [
    "fri-sun ends on Sunday",
    "0 0 * * fri-sun",
    "2026-01-01",
    ["2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"],
  ],
  [
    "sun-sun is Sunday alone",
    "0 0 * * sun-sun",
    "2026-01-01",
    ["2026-01-04T00:00", "2026-01-11T00:00"],
  ],
  [
    "5-7 ends on Sunday",
    "0 0 * * 5-7",
    "2026-01-01",
    ["2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"],
  ],
  [
    "a starred step of days of the week starts on Sunday",
    "0 0 * * */3",
    "2026-01-01",
    ["2026-01-03T00:00", "2026-01-04T00:00", "2026-01-07T00:00", "2026-01-10T00:00"],
  ],
  [
    "names are their values",
    "0 0 * Feb TUE",
    "2026-01-01",
    ["2026-02-03T00:00", "2026-02-10T00:00", "2026-02-17T00:00", "2026-02-24T00:00"],
  ],
  [
    "fires on either when both day of month and day of week are given",
    "0 0 13 * fri",
    "2026-01-08",
    ["2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00", "2026-01-23T00:00"],
  ],
  [
    "a starred step counts as given: day of month",
    "0 0 */20 * mon",
    "2026-01-01",
    [
      "2026-01-01T00:00",
      "2026-01-05T00:00",
      "2026-01-12T00:00",
      "2026-01-19T00:00",
      "2026-01-21T00:00",
    ],
  ],
  [
    "a starred step counts as given: a step of 1 fires every day",
    "0 0 */1 * mon",
    "2026-01-01",
    ["2026-01-01T00:00", "2026-01-02T00:00", "2026-01-03T00:00"],
  ],
  [
    "a starred step counts as given: day of week",
    "0 0 15 * */4",
    "2026-01-09",
    ["2026-01-11T00:00", "2026-01-15T00:00", "2026-01-18T00:00"],
  ],
  [
    "a whole range counts as given",
    "0 0 15 * 0-6",
    "2026-01-01",
    ["2026-01-01T00:00", "2026-01-02T00:00"],
  ],
  [
    "fires by the other where the day of month never occurs",
    "0 0 30 2 mon",
    "2026-02-01",
    [
      "2026-02-02T00:00",
      "2026-02-09T00:00",
      "2026-02-16T00:00",
      "2026-02-23T00:00",
      "2027-02-01T00:00",
    ],
  ],
  [
    "skips months without the day",
    "0 9 31 * *",
    "2026-01-31",
    [
      "2026-01-31T09:00",
      "2026-03-31T09:00",
      "2026-05-31T09:00",
      "2026-07-31T09:00",
      "2026-08-31T09:00",
    ],
  ],
  [
    "29 February occurs in leap years, not in 2100",
    "0 0 29 2 *",
    "2090-01-01",
    ["2092-02-29T00:00", "2096-02-29T00:00", "2104-02-29T00:00"],
  ],
]

describe("a cron pattern", () => {
  for (const text of accepted) {
    it.effect(`may be ${text}`, () =>
      Effect.sync(() => {
        const cron = Result.getOrThrow(parseCron(text))
        assert.strictEqual(cron.text, text)
        assert.isDefined(cron.wallTimeAfter(0))
      }),
    )
  }

  for (const [text, problem] of refused) {
    it.effect(`is no ${JSON.stringify(text.slice(0, 20))}: ${problem}`, () =>
      Effect.sync(() => {
        assert.deepStrictEqual(parseCron(text), Result.fail(problem))
      }),
    )
  }

  for (const [rule, text, from, found] of days) {
    it.effect(`${text}: ${rule}`, () =>
      Effect.sync(() => {
        assert.deepStrictEqual(wallTimes(text, from, found.length), found)
      }),
    )
  }

  it.effect("never runs after the year 9999", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(wallTimes("59 23 31 12 *", "9998-01-01", 3), [
        "9998-12-31T23:59",
        "9999-12-31T23:59",
      ])
      assert.deepStrictEqual(wallTimes("0 0 * * *", "9999-12-30", 3), [
        "9999-12-30T00:00",
        "9999-12-31T00:00",
      ])
      assert.deepStrictEqual(wallTimes("0 0 29 2 *", "9996-01-01", 2), ["9996-02-29T00:00"])
    }),
  )

  it.effect("is hourly or more frequent when its hour field names all 24 hours", () =>
    Effect.sync(() => {
      const everyHour = (text: string) => Result.getOrThrow(parseCron(text)).everyHour
      for (const hour of ["*", "*/1", "0-23", "0-11,12-23", "*/2,1-23/2"]) {
        assert.isTrue(everyHour(`5 ${hour} * * 1`), hour)
        assert.isTrue(everyHour(`* ${hour} * * *`), hour)
      }
      for (const hour of ["*/2", "0-22", "1-23", "9-17", "2"]) {
        assert.isFalse(everyHour(`5 ${hour} * * *`), hour)
        assert.isFalse(everyHour(`* ${hour} * * *`), hour)
      }
    }),
  )

  it.effect("answers independently of the order of questions", () =>
    Effect.sync(() => {
      const one = Result.getOrThrow(parseCron("0 9 10,20 * *"))
      const dayMillis = 86_400_000
      const questions = Array.from({ length: 400 }, (_, i) => ((i * 61) % 400) * dayMillis)
      for (const wall of questions) {
        const fresh = Result.getOrThrow(parseCron("0 9 10,20 * *"))
        assert.strictEqual(one.wallTimeAfter(wall), fresh.wallTimeAfter(wall))
      }
    }),
  )

  const Piece = Schema.Literals([..."0123456789*/-, ?LW#@", "mon", "feb", "* * * * *"])

  it.effect.prop("parsing never throws", [Schema.String, Schema.Array(Piece)], ([text, pieces]) =>
    Effect.sync(() => {
      for (const candidate of [text, pieces.join(""), `${pieces.join("")} * * *`]) {
        const cron = parseCron(candidate)
        if (Result.isSuccess(cron)) assert.isAbove(cron.success.wallTimeAfter(0)!, 0)
      }
    }),
  )
})
