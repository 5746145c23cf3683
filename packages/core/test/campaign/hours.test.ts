/** The hours of a campaign, also where its zone's clocks change (campaigns: 2). */
import { assert, describe, it } from "@effect/vitest"
import { weekdays } from "../../src/model/Campaign.ts"
import type { SendingHours, Weekday } from "../../src/model/Campaign.ts"
import { formatInZone, parseTimeZone } from "../../src/model/Cron.ts"
import type { TimeZone } from "../../src/model/Cron.ts"
import { hoursAt } from "../../src/model/hours.ts"

const minute = 60_000
const day = 24 * 60 * minute

const at = (time: string): number => {
  const [hour, minutes] = time.split(":")
  return Number(hour) * 60 + Number(minutes)
}

const hours = (from: string, until: string, days: ReadonlyArray<Weekday> = weekdays) => ({
  days,
  from: at(from),
  until: at(until),
})

const zone = (name: string): TimeZone => parseTimeZone(name) ?? ("UTC" as TimeZone)

/** What the clocks show, in milliseconds as if in UTC. */
const clockTime = (instant: number, timezone: TimeZone): number =>
  Date.parse(`${formatInZone(instant, timezone).slice(0, 19)}Z`)

/** Open at each minute of some days: the latest time that the clocks have shown is in the hours. */
const walk = (open: SendingHours, timezone: TimeZone, from: number, days: number) => {
  let reached = clockTime(from - day, timezone)
  for (let instant = from - day; instant < from; instant += minute) {
    reached = Math.max(reached, clockTime(instant, timezone))
  }
  return Array.from({ length: (days * day) / minute }, (_, index) => {
    reached = Math.max(reached, clockTime(from + index * minute, timezone))
    const today = Math.floor(reached / day)
    const time = (reached - today * day) / minute
    const weekday = weekdays[(today + 3) % 7]
    return (
      weekday !== undefined && open.days.includes(weekday) && time >= open.from && time < open.until
    )
  })
}

describe("the hours of a campaign", () => {
  it("are always without any", () => {
    assert.deepStrictEqual(hoursAt({ hours: null, timezone: null }, 0), {
      isOpen: true,
      changesAt: null,
    })
    const always = { hours: hours("00:00", "24:00"), timezone: zone("Europe/Berlin") }
    assert.deepStrictEqual(hoursAt(always, 0), { isOpen: true, changesAt: null })
  })

  it("begin with their first minute and end before their last", () => {
    const timezone = zone("Europe/Berlin")
    const open = { hours: hours("09:00", "18:00", ["mon", "fri"]), timezone }
    for (const [instant, isOpen, changesAt] of [
      // A Monday.
      ["2030-07-01T06:59:59.999Z", false, "2030-07-01T07:00:00Z"],
      ["2030-07-01T07:00:00Z", true, "2030-07-01T16:00:00Z"],
      ["2030-07-01T15:59:59.999Z", true, "2030-07-01T16:00:00Z"],
      ["2030-07-01T16:00:00Z", false, "2030-07-05T07:00:00Z"],
      ["2030-07-06T00:00:00Z", false, "2030-07-08T07:00:00Z"],
    ] as const)
      assert.deepStrictEqual(hoursAt(open, Date.parse(instant)), {
        isOpen,
        changesAt: Date.parse(changesAt),
      })
    const night = { hours: hours("22:00", "24:00", ["sun"]), timezone: zone("UTC") }
    assert.deepStrictEqual(hoursAt(night, Date.parse("2030-07-07T23:00:00Z")), {
      isOpen: true,
      changesAt: Date.parse("2030-07-08T00:00:00Z"),
    })
  })

  it("are as a walked clock has them where clocks change", () => {
    for (const [name, from] of [
      ["Europe/Berlin", "2030-03-30"],
      ["Europe/Berlin", "2030-10-26"],
      ["Australia/Lord_Howe", "2030-10-05"],
      // The clocks skip midnight there, and a whole day here.
      ["America/Santiago", "2026-09-05"],
      ["Pacific/Apia", "2011-12-29"],
    ] as const) {
      for (const open of [
        hours("09:00", "18:00"),
        hours("00:00", "02:30"),
        hours("02:10", "02:20"),
        hours("02:30", "03:30", ["sun"]),
        hours("23:00", "24:00"),
        hours("00:00", "24:00", ["sat", "sun", "fri"]),
      ]) {
        const timezone = zone(name)
        const start = Date.parse(`${from}T00:00:00Z`)
        const walked = walk(open, timezone, start, 3)
        for (const [index, isOpen] of walked.entries()) {
          const instant = start + index * minute
          const found = hoursAt({ hours: open, timezone }, instant)
          if (found.isOpen !== isOpen) {
            assert.fail(`${name} ${JSON.stringify(open)} ${new Date(instant).toISOString()}`)
          }
          const change = ((found.changesAt ?? Infinity) - start) / minute
          if (change < walked.length) {
            assert.strictEqual(walked.indexOf(!isOpen, index), change, name)
          }
        }
      }
    }
  })
})
