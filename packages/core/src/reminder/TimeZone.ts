/**
 * The time zones that a reminder may name, and what their clocks show. `Intl` alone does not settle the
 * names: it takes abbreviations (`PST`) and bare offsets too, and it answers with the name that it prefers
 * itself. So the names are the tz database's own.
 *
 * How far the clocks of a zone are from UTC `Intl` knows for one moment at a time and takes a microsecond to
 * say, so what it said is kept: for each zone asked about, the periods between clock changes, a quarter of a
 * year at a time. They are facts of the tz database, the same whenever they are asked.
 */
import { Result } from "effect"
import type { Brand } from "effect"
import { formatInstant } from "../time/Instant.ts"
import { zoneNames } from "./zoneNames.ts"

/** A zone or a link of the tz database, in the database's spelling. */
export type TimeZone = string & Brand.Brand<"TimeZone">

/**
 * The zone of that name, compared without case; a link stays the link. `undefined` for what is refused as
 * `invalid_timezone`; a name that is younger than the time zones of the runtime is refused too.
 */
export const parseTimeZone = (text: string): TimeZone | undefined => {
  // In lower case, some letters beyond ASCII become ASCII letters.
  const name = ascii.test(text) ? byLowerCase.get(text.toLowerCase()) : undefined
  return name !== undefined && isTimeZone(name) ? name : undefined
}

/**
 * A moment (epoch milliseconds) as the clocks of a zone show it, with their offset:
 * `YYYY-MM-DDTHH:MM:SS±HH:MM`, whole seconds, truncated. For moments between the years 0 and 9999 of that
 * zone.
 */
export const formatInZone = (millis: number, timezone: TimeZone): string => {
  // Before 1972 some offsets had seconds, which the format has no room for.
  const offset = Math.trunc(periodAt(timezone, millis).offset / 60_000)
  const size = Math.abs(offset)
  const sign = offset < 0 ? "-" : "+"
  const shown = `${sign}${twoDigits(Math.floor(size / 60))}:${twoDigits(size % 60)}`
  return formatInstant(millis + offset * 60_000).replace("Z", shown)
}

/**
 * The first moment (epoch milliseconds) at which the clocks of a zone show a time, which is given as the
 * moment at which UTC shows it. A time that a clock change skips means the first moment after it.
 */
export const momentInZone = (shown: number, timezone: TimeZone): number => {
  // No clock is a day ahead of UTC, so that the time is still to come in this period.
  let period = periodAt(timezone, shown - dayMillis)
  while (shown - period.offset >= period.end) period = periodAt(timezone, period.end)
  return Math.max(shown - period.offset, period.start)
}

const dayMillis = 86_400_000

const ascii = /^[\x20-\x7e]+$/

const byLowerCase: ReadonlyMap<string, string> = new Map(
  zoneNames.map((name) => [name.toLowerCase(), name]),
)

/** Whether `Intl` knows a zone of that name. */
const isTimeZone = (name: string): name is TimeZone =>
  Result.isSuccess(Result.try(() => clockOf(name)))

const twoDigits = (value: number): string => `${value}`.padStart(2, "0")

/** A stretch of time without a clock change; the one before or after it may have the same offset. */
interface Period {
  /** Epoch milliseconds. */
  readonly start: number
  /** Epoch milliseconds; the first moment that no longer belongs to it. */
  readonly end: number
  /** How far the clocks are ahead of UTC, in milliseconds. */
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
