/**
 * The time zones that a reminder may name. `Intl` alone does not settle that: it takes abbreviations (`PST`) and bare
 * offsets too, and it answers with the name that it prefers itself. So the names are the tz database's own.
 */
import type { Brand } from "effect"
import { formatInstant } from "../time/Instant.ts"
import { isKnownZone, periodAt } from "./ZoneClock.ts"
import { zoneNames } from "./zoneNames.ts"

/** A zone or a link of the tz database, in the database's spelling. */
export type TimeZone = string & Brand.Brand<"TimeZone">

/**
 * The zone of that name, compared without case; a link stays the link. `undefined` for what the contract calls
 * `invalid_timezone`, and for a name that is younger than the time zones of the runtime.
 */
export const parseTimeZone = (text: string): TimeZone | undefined => {
  // Lower case makes an ASCII letter of some that are none.
  const name = ascii.test(text) ? byLowerCase.get(text.toLowerCase()) : undefined
  return name !== undefined && isTimeZone(name) ? name : undefined
}

/**
 * A moment (epoch milliseconds) as the clocks of a zone show it, with their offset: `YYYY-MM-DDTHH:MM:SS±HH:MM`, whole
 * seconds, truncated. For moments between the years 0 and 9999 of that zone.
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
 * The first moment (epoch milliseconds) at which the clocks of a zone show a time, which is given as the moment at which
 * UTC shows it. A time that a clock change skips means the first moment after it.
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

const isTimeZone = (name: string): name is TimeZone => isKnownZone(name)

const twoDigits = (value: number): string => `${value}`.padStart(2, "0")
