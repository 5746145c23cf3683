/**
 * How far the clocks of a time zone are from UTC, and from when to when. `Intl` knows that for one moment at a time and
 * takes a microsecond to say it, so what it said is kept: for each zone asked about, the periods between clock changes,
 * a quarter of a year at a time. They are facts of the tz database, the same whenever they are asked.
 */
import { Result } from "effect"

/** A stretch of time without a clock change; the one before or behind it may have the same offset. */
export interface Period {
  /** Epoch milliseconds. */
  readonly start: number
  /** Epoch milliseconds; the first moment that no longer belongs to it. */
  readonly end: number
  /** What the clocks show less UTC, in milliseconds. */
  readonly offset: number
}

/** The period that a moment lies in. The zone must be one that `Intl` knows. */
export const periodAt = (zone: string, millis: number): Period => {
  const clock = clockOf(zone)
  const index = Math.floor(millis / quarterMillis)
  let periods = clock.quarters.get(index)
  if (periods === undefined) {
    periods = periodsOf(clock.formatter, index * quarterMillis)
    clock.quarters.set(index, periods)
  }
  let period = periods[0]
  for (const next of periods) {
    if (next.start > millis) break
    period = next
  }
  return period
}

/** Whether `Intl` knows a zone of that name. */
export const isKnownZone = (name: string): boolean =>
  Result.isSuccess(Result.try(() => clockOf(name)))

interface ZoneClock {
  readonly formatter: Intl.DateTimeFormat
  readonly quarters: Map<number, Periods>
}

type Periods = readonly [Period, ...ReadonlyArray<Period>]

const clocks = new Map<string, ZoneClock>()

const clockOf = (zone: string): ZoneClock => {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const formatter = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
  const clock: ZoneClock = { formatter, quarters: new Map() }
  clocks.set(zone, clock)
  return clock
}

// Two changes of a zone's offset were never less than 3.9 days apart (Freetown, 1939), and since 1970 none less than 6.9
// (Recife, 2000; Gaza in years to come), so that no two fall between two samples.
const sampleMillis = 3 * 86_400_000
const quarterMillis = 30 * sampleMillis

const periodsOf = (formatter: Intl.DateTimeFormat, quarterStart: number): Periods => {
  const quarterEnd = quarterStart + quarterMillis
  const periods: Array<Period> = []
  let start = quarterStart
  let offset = offsetAt(formatter, quarterStart)
  for (let sample = quarterStart; sample < quarterEnd; sample += sampleMillis) {
    // The next quarter's first moment is its own.
    const last = Math.min(sample + sampleMillis, quarterEnd - 1)
    const next = offsetAt(formatter, last)
    if (next === offset) continue
    const change = changeBetween(formatter, sample, last, offset)
    periods.push({ start, end: change, offset })
    start = change
    offset = next
  }
  const rest: Period = { start, end: quarterEnd, offset }
  const [first, ...others] = [...periods, rest]
  return first === undefined ? [rest] : [first, ...others]
}

/** The first moment, after `before` and up to `after`, at which the offset is no longer `offset`. */
const changeBetween = (
  formatter: Intl.DateTimeFormat,
  before: number,
  after: number,
  offset: number,
): number => {
  let low = before
  let high = after
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(formatter, middle) === offset) low = middle
    else high = middle
  }
  return high
}

// `1/1/1970, GMT-00:44:30`; offset zero may stand as `GMT` alone.
const offsetForm = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

const offsetAt = (formatter: Intl.DateTimeFormat, millis: number): number => {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] =
    offsetForm.exec(formatter.format(millis)) ?? []
  const size = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1000
  return sign === "-" ? -size : size
}
