import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { parseCron } from "../../src/reminder/Cron.ts"
import { latestRunIn, nextRunAfter, type ReminderSchedule } from "../../src/reminder/Schedule.ts"
import { formatInZone, parseTimeZone } from "../../src/reminder/TimeZone.ts"
import { patterns } from "./patterns.ts"
import { namedMinutes, runsByDefinition, walk } from "./WalkedClock.ts"

const schedule = (cron: string, zone: string): ReminderSchedule => ({
  cron: Result.getOrThrow(parseCron(cron)),
  timezone: parseTimeZone(zone)!,
})

/** The runs later than `from` up to `to`, as the zone's clocks show them. */
const runs = (of: ReminderSchedule, from: string, to: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let run = nextRunAfter(of, Date.parse(from))
  while (run !== null && run <= Date.parse(to)) {
    found.push(formatInZone(run, of.timezone))
    run = nextRunAfter(of, run)
  }
  return found
}

interface Rule {
  readonly rule: string
  readonly cron: string
  readonly zone: string
  readonly from: string
  readonly to: string
  readonly runs: ReadonlyArray<string>
}

const berlinSpring = { zone: "Europe/Berlin", from: "2026-03-28T12:00Z", to: "2026-03-30T12:00Z" }
const berlinAutumn = { zone: "Europe/Berlin", from: "2026-10-24T12:00Z", to: "2026-10-26T12:00Z" }
const lordHoweSpring = {
  zone: "Australia/Lord_Howe",
  from: "2026-10-03T14:00Z",
  to: "2026-10-03T17:00Z",
}
const lordHoweAutumn = {
  zone: "Australia/Lord_Howe",
  from: "2026-04-04T13:30Z",
  to: "2026-04-04T16:30Z",
}
const apia = { zone: "Pacific/Apia", from: "2011-12-29T06:00Z", to: "2011-12-31T12:00Z" }
const kwajalein = { zone: "Pacific/Kwajalein", from: "1993-08-20T00:00Z", to: "1993-08-23T00:00Z" }
const saoPauloSpring = {
  zone: "America/Sao_Paulo",
  from: "2018-11-03T12:00Z",
  to: "2018-11-05T12:00Z",
}
const saoPauloAutumn = {
  zone: "America/Sao_Paulo",
  from: "2018-02-17T03:00Z",
  to: "2018-02-18T12:00Z",
}

const rules: ReadonlyArray<Rule> = [
  {
    rule: "a fixed time that is skipped runs at the first instant after the gap",
    cron: "30 2 * * *",
    ...berlinSpring,
    runs: ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
  },
  {
    rule: "fixed times that are skipped run once together",
    cron: "*/15 2 * * 7",
    ...berlinSpring,
    runs: ["2026-03-29T03:00:00+02:00"],
  },
  {
    rule: "a skipped time and the time of the first instant after the gap run once together",
    cron: "0,30 1-3 29 3 *",
    ...berlinSpring,
    runs: [
      "2026-03-29T01:00:00+01:00",
      "2026-03-29T01:30:00+01:00",
      "2026-03-29T03:00:00+02:00",
      "2026-03-29T03:30:00+02:00",
    ],
  },
  {
    rule: "the last minute before the gap and the first one behind it are not skipped",
    cron: "59,0 1,3 29 * *",
    ...berlinSpring,
    runs: [
      "2026-03-29T01:00:00+01:00",
      "2026-03-29T01:59:00+01:00",
      "2026-03-29T03:00:00+02:00",
      "2026-03-29T03:59:00+02:00",
    ],
  },
  {
    rule: "an hourly pattern follows real time: a minute inside a gap does not occur",
    cron: "30 * 29 * *",
    zone: "Europe/Berlin",
    from: "2026-03-28T23:00Z",
    to: "2026-03-29T02:30Z",
    runs: [
      "2026-03-29T00:30:00+01:00",
      "2026-03-29T01:30:00+01:00",
      "2026-03-29T03:30:00+02:00",
      "2026-03-29T04:30:00+02:00",
    ],
  },
  {
    rule: "a more frequent pattern follows real time through a gap",
    cron: "*/30 * * * *",
    zone: "Europe/Berlin",
    from: "2026-03-29T00:00Z",
    to: "2026-03-29T01:30Z",
    runs: ["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"],
  },
  {
    rule: "every second hour is less frequent than hourly: a skipped one is run behind the gap",
    cron: "0 */2 29 * *",
    zone: "Europe/Berlin",
    from: "2026-03-28T22:00Z",
    to: "2026-03-29T04:00Z",
    runs: [
      "2026-03-29T00:00:00+01:00",
      "2026-03-29T03:00:00+02:00",
      "2026-03-29T04:00:00+02:00",
      "2026-03-29T06:00:00+02:00",
    ],
  },
  {
    rule: "a fixed time that occurs twice runs once, the first time",
    cron: "30 2 * * *",
    ...berlinAutumn,
    runs: ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
  },
  {
    rule: "several fixed times that occur twice run once each",
    cron: "0,20,59 1-3 25 * *",
    ...berlinAutumn,
    runs: [
      "2026-10-25T01:00:00+02:00",
      "2026-10-25T01:20:00+02:00",
      "2026-10-25T01:59:00+02:00",
      "2026-10-25T02:00:00+02:00",
      "2026-10-25T02:20:00+02:00",
      "2026-10-25T02:59:00+02:00",
      "2026-10-25T03:00:00+01:00",
      "2026-10-25T03:20:00+01:00",
      "2026-10-25T03:59:00+01:00",
    ],
  },
  {
    rule: "from within the repeated hour a fixed time does not come again",
    cron: "30 2 * * *",
    zone: "Europe/Berlin",
    from: "2026-10-25T01:10Z",
    to: "2026-10-26T12:00Z",
    runs: ["2026-10-26T02:30:00+01:00"],
  },
  {
    rule: "an hourly pattern follows real time: both times",
    cron: "30 * * * *",
    zone: "Europe/Berlin",
    from: "2026-10-24T23:00Z",
    to: "2026-10-25T03:00Z",
    runs: [
      "2026-10-25T01:30:00+02:00",
      "2026-10-25T02:30:00+02:00",
      "2026-10-25T02:30:00+01:00",
      "2026-10-25T03:30:00+01:00",
    ],
  },
  {
    rule: "every second hour runs once where it occurs twice",
    cron: "0 */2 25 * *",
    zone: "Europe/Berlin",
    from: "2026-10-24T22:00Z",
    to: "2026-10-25T04:00Z",
    runs: ["2026-10-25T02:00:00+02:00", "2026-10-25T04:00:00+01:00"],
  },
  {
    rule: "a gap of half an hour: a fixed time",
    cron: "15 2 * * *",
    ...lordHoweSpring,
    runs: ["2026-10-04T02:30:00+11:00"],
  },
  {
    rule: "a gap of half an hour: an hourly pattern inside it",
    cron: "0 * * * *",
    ...lordHoweSpring,
    runs: ["2026-10-04T01:00:00+10:30", "2026-10-04T03:00:00+11:00", "2026-10-04T04:00:00+11:00"],
  },
  {
    rule: "a gap of half an hour: an hourly pattern beside it",
    cron: "45 * * * *",
    ...lordHoweSpring,
    runs: [
      "2026-10-04T00:45:00+10:30",
      "2026-10-04T01:45:00+10:30",
      "2026-10-04T02:45:00+11:00",
      "2026-10-04T03:45:00+11:00",
    ],
  },
  {
    rule: "half an hour that occurs twice: a fixed time",
    cron: "45 1 * * *",
    ...lordHoweAutumn,
    runs: ["2026-04-05T01:45:00+11:00"],
  },
  {
    rule: "half an hour that occurs twice: an hourly pattern",
    cron: "45 * * * *",
    ...lordHoweAutumn,
    runs: [
      "2026-04-05T00:45:00+11:00",
      "2026-04-05T01:45:00+11:00",
      "2026-04-05T01:45:00+10:30",
      "2026-04-05T02:45:00+10:30",
    ],
  },
  {
    rule: "a gap of two hours: all that was skipped runs once together",
    cron: "10,50 1-2 * * *",
    zone: "Antarctica/Troll",
    from: "2026-03-28T12:00Z",
    to: "2026-03-29T12:00Z",
    runs: ["2026-03-29T03:00:00+02:00"],
  },
  {
    rule: "a skipped day is a gap: its fixed times run once together, when the next day begins",
    cron: "0 9,18 * * *",
    ...apia,
    runs: [
      "2011-12-29T09:00:00-10:00",
      "2011-12-29T18:00:00-10:00",
      "2011-12-31T00:00:00+14:00",
      "2011-12-31T09:00:00+14:00",
      "2011-12-31T18:00:00+14:00",
    ],
  },
  {
    rule: "a skipped day's date runs when the next day begins",
    cron: "0 9 30 12 *",
    ...apia,
    runs: ["2011-12-31T00:00:00+14:00"],
  },
  {
    rule: "hours of a skipped day do not occur",
    cron: "0 * 30 12 *",
    ...apia,
    runs: [],
  },
  {
    rule: "the day that Kwajalein skipped",
    cron: "30 6 * * *",
    ...kwajalein,
    runs: [
      "1993-08-20T06:30:00-12:00",
      "1993-08-22T00:00:00+12:00",
      "1993-08-22T06:30:00+12:00",
      "1993-08-23T06:30:00+12:00",
    ],
  },
  {
    rule: "a midnight that is skipped",
    cron: "0 0 * * *",
    ...saoPauloSpring,
    runs: ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"],
  },
  {
    rule: "an hour before midnight that occurs twice",
    cron: "30 23 * * *",
    ...saoPauloAutumn,
    runs: ["2018-02-17T23:30:00-02:00"],
  },
  {
    rule: "the midnight behind an hour that occurs twice",
    cron: "0 0 * * *",
    ...saoPauloAutumn,
    runs: ["2018-02-18T00:00:00-03:00"],
  },
  {
    rule: "an hourly pattern on a day whose last hour occurs twice, which is also its last",
    cron: "15 * 17 * *",
    zone: "America/Sao_Paulo",
    from: "2018-02-18T00:00Z",
    to: "2018-02-19T00:00Z",
    runs: ["2018-02-17T22:15:00-02:00", "2018-02-17T23:15:00-02:00", "2018-02-17T23:15:00-03:00"],
  },
  {
    rule: "a midnight that Beirut skips",
    cron: "15 0 29 3 *",
    zone: "Asia/Beirut",
    from: "2026-03-27T00:00Z",
    to: "2026-03-30T00:00Z",
    runs: ["2026-03-29T01:00:00+03:00"],
  },
  {
    rule: "Dublin's winter time, which the database calls the shifted one, is a winter time",
    cron: "30 1 * * *",
    zone: "Europe/Dublin",
    from: "2026-10-24T12:00Z",
    to: "2026-10-26T12:00Z",
    runs: ["2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00+00:00"],
  },
  {
    rule: "Dublin's gap",
    cron: "30 1 * * *",
    zone: "Europe/Dublin",
    from: "2026-03-28T12:00Z",
    to: "2026-03-30T12:00Z",
    runs: ["2026-03-29T02:00:00+01:00", "2026-03-30T01:30:00+01:00"],
  },
  {
    rule: "Casablanca puts its clocks back for Ramadan and on again",
    cron: "30 2 * * sun",
    zone: "Africa/Casablanca",
    from: "2026-02-14T00:00Z",
    to: "2026-03-30T00:00Z",
    runs: [
      "2026-02-15T02:30:00+01:00",
      "2026-02-22T02:30:00+00:00",
      "2026-03-01T02:30:00+00:00",
      "2026-03-08T02:30:00+00:00",
      "2026-03-15T02:30:00+00:00",
      "2026-03-22T03:00:00+01:00",
      "2026-03-29T02:30:00+01:00",
    ],
  },
  {
    rule: "a link runs by the clocks of its zone",
    cron: "0 9 * * mon",
    zone: "US/Pacific",
    from: "2026-03-06T00:00Z",
    to: "2026-03-17T00:00Z",
    runs: ["2026-03-09T09:00:00-07:00", "2026-03-16T09:00:00-07:00"],
  },
]

describe("clocks that change", () => {
  for (const { cron, from, rule, runs: expected, to, zone } of rules) {
    it.effect(`${rule}: ${cron} in ${zone}`, () =>
      Effect.sync(() => {
        assert.deepStrictEqual(runs(schedule(cron, zone), from, to), expected)
      }),
    )
  }

  const minuteMillis = 60_000
  const changes = [
    ["Europe/Berlin", "2026-03-29"],
    ["Europe/Berlin", "2026-10-25"],
    ["Europe/Dublin", "2026-03-29"],
    ["Europe/Dublin", "2026-10-25"],
    ["America/New_York", "2026-03-08"],
    ["America/New_York", "2026-11-01"],
    ["America/St_Johns", "2011-03-13"],
    ["America/St_Johns", "2010-11-07"],
    ["America/Sao_Paulo", "2018-02-18"],
    ["America/Sao_Paulo", "2018-11-04"],
    ["America/Caracas", "2016-05-01"],
    ["Africa/Casablanca", "2026-02-15"],
    ["Africa/Casablanca", "2026-03-22"],
    ["Africa/Cairo", "2010-09-10"],
    ["Asia/Beirut", "2026-03-29"],
    ["Asia/Beirut", "2026-10-25"],
    ["America/Recife", "2000-10-08"],
    ["America/Recife", "2000-10-15"],
    ["Asia/Hebron", "2011-08-01"],
    ["Asia/Hebron", "2011-08-30"],
    ["Asia/Kathmandu", "1986-01-01"],
    ["Asia/Pyongyang", "2018-05-04"],
    ["Australia/Lord_Howe", "2026-04-05"],
    ["Australia/Lord_Howe", "2026-10-04"],
    ["Antarctica/Casey", "2023-03-09"],
    ["Antarctica/Troll", "2026-03-29"],
    ["Antarctica/Troll", "2026-10-25"],
    ["Pacific/Apia", "2011-12-30"],
    ["Pacific/Chatham", "2026-04-05"],
    ["Pacific/Kiritimati", "1994-12-31"],
    ["Pacific/Kwajalein", "1969-09-30"],
    ["Pacific/Kwajalein", "1993-08-21"],
  ] as const

  it.effect("give the runs of the definition, from every minute around them", () =>
    Effect.sync(() => {
      for (const [zone, date] of changes) {
        const middle = Date.parse(date) / minuteMillis
        const start = middle - 3 * 1440
        const end = middle + 3 * 1440
        const clock = walk(zone, start, end, 1)
        assert.isNotEmpty(clock.changes, `${zone} ${date}`)
        for (const pattern of patterns) {
          const expected = runsByDefinition(
            clock,
            pattern,
            namedMinutes(pattern, start - 2 * 1440, end + 2 * 1440),
          )
          const of = schedule(pattern.cron, zone)
          let next = 0
          for (let minute = start + 2 * 1440; minute < end; minute += 1) {
            const after = minute * minuteMillis
            while (next < expected.length && expected[next]! <= after) next++
            if (next === expected.length) break
            const run = nextRunAfter(of, after)
            if (run !== expected[next]) {
              assert.fail(
                `${pattern.cron} in ${zone} after ${formatInZone(after, of.timezone)}: ${
                  run === null ? "no run" : formatInZone(run, of.timezone)
                } instead of ${formatInZone(expected[next]!, of.timezone)}`,
              )
            }
          }
        }
      }
    }),
  )
})

describe("the next run", () => {
  it.effect("is later than the moment asked about, to the millisecond", () =>
    Effect.sync(() => {
      const nine = Date.parse("2026-05-04T09:00Z")
      for (const cron of ["0 9 * * *", "0 * * * *"]) {
        const of = schedule(cron, "UTC")
        assert.strictEqual(nextRunAfter(of, nine - 1), nine)
        assert.isAbove(nextRunAfter(of, nine)!, nine)
      }
    }),
  )

  it.effect("may be eight years away", () =>
    Effect.sync(() => {
      const found = (cron: string) =>
        runs(schedule(cron, "Europe/Paris"), "2096-03-01T00:00Z", "2104-02-29T00:00Z")
      assert.deepStrictEqual(found("0 0 29 2 *"), ["2104-02-29T00:00:00+01:00"])
      assert.deepStrictEqual(found("0 * 29 2 *"), [
        "2104-02-29T00:00:00+01:00",
        "2104-02-29T01:00:00+01:00",
      ])
    }),
  )

  it.effect("is none past the year 9999", () =>
    Effect.sync(() => {
      const last = Date.parse("9999-12-31T12:00Z")
      for (const zone of ["UTC", "Pacific/Kiritimati", "Etc/GMT+12"]) {
        for (const cron of ["0 0 1 1 *", "0 * 1 1 *"]) {
          assert.isNull(nextRunAfter(schedule(cron, zone), last), `${cron} ${zone}`)
        }
        for (const cron of ["59 23 * * *", "59 * * * *"]) {
          const of = schedule(cron, zone)
          let run = nextRunAfter(of, Date.parse("9999-12-30T00:00Z"))
          let final = run
          while (run !== null) {
            final = run
            run = nextRunAfter(of, run)
          }
          assert.match(formatInZone(final!, of.timezone), /^9999-12-31T23:59:00/)
        }
        for (const cron of ["* * * * *", "0 0 * * *"]) {
          assert.isNull(nextRunAfter(schedule(cron, zone), 8.64e15))
        }
      }
    }),
  )
})

describe("the latest run in a span of time", () => {
  it.effect("lies behind its beginning and not behind its end", () =>
    Effect.sync(() => {
      const of = schedule("*/20 9 * * *", "UTC")
      const at = (text: string) => Date.parse(`2026-05-04T${text}Z`)
      assert.strictEqual(latestRunIn(of, at("08:59"), at("09:59")), at("09:40"))
      assert.strictEqual(latestRunIn(of, at("08:59"), at("09:40")), at("09:40"))
      assert.strictEqual(latestRunIn(of, at("08:59"), at("09:39:59.999")), at("09:20"))
      assert.strictEqual(latestRunIn(of, at("09:39:59.999"), at("09:40")), at("09:40"))
      assert.isNull(latestRunIn(of, at("09:40"), at("10:40")))
      assert.isNull(latestRunIn(of, at("08:00"), at("08:59:59.999")))
      assert.isNull(latestRunIn(of, at("09:40"), at("09:40")))
      assert.isNull(latestRunIn(of, at("09:40"), at("09:00")))
    }),
  )

  it.effect(
    "is the one of skipped times behind a gap, and the second of an hourly one that comes twice",
    () =>
      Effect.sync(() => {
        const spring = Date.parse("2026-03-29T01:00Z")
        assert.strictEqual(
          latestRunIn(schedule("*/10 2 * * *", "Europe/Berlin"), spring - 3_600_000, spring),
          spring,
        )
        const autumn = Date.parse("2026-10-25T01:00Z")
        assert.strictEqual(
          latestRunIn(schedule("0 * * * *", "Europe/Berlin"), autumn - 3_600_000, autumn),
          autumn,
        )
        assert.isNull(
          latestRunIn(schedule("0 2 * * *", "Europe/Berlin"), autumn - 3_600_000, autumn),
        )
      }),
  )

  const Moment = Schema.Int.check(
    Schema.isBetween({ minimum: Date.UTC(2026, 0, 1), maximum: Date.UTC(2028, 0, 1) }),
  )
  const Span = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 * 86_400_000 }))
  const Zone = Schema.Literals([
    "UTC",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/New_York",
    "Africa/Casablanca",
  ])
  const Pattern = Schema.Literals(patterns.map((pattern) => pattern.cron))

  it.effect.prop(
    "is the last that one finds by going from run to run",
    [Pattern, Zone, Moment, Span],
    ([cron, zone, from, span]) =>
      Effect.sync(() => {
        const of = schedule(cron, zone)
        let last: number | null = null
        let run = nextRunAfter(of, from)
        while (run !== null && run <= from + span) {
          assert.isAbove(run, last ?? from)
          last = run
          run = nextRunAfter(of, run)
        }
        assert.strictEqual(latestRunIn(of, from, from + span), last)
      }),
  )
})
