import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { formatInZone, latestRunIn, nextRunAfter } from "../../src/model/Cron.ts"
import { patterns } from "./patterns.ts"
import { namedMinutes, runsByDefinition, walk } from "./WalkedClock.ts"
import { schedule, runs } from "./ScheduledRuns.ts"

describe("clocks that change", () => {
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

  it.effect("give the defined runs from every minute around them", () =>
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
  it.effect("lies after its start and not after its end", () =>
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

  it.effect("is the skipped time after a gap, and the second of an hourly one that repeats", () =>
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
      assert.isNull(latestRunIn(schedule("0 2 * * *", "Europe/Berlin"), autumn - 3_600_000, autumn))
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
    "equals the last run reached by stepping from run to run",
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
