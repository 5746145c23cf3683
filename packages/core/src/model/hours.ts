/**
 * The hours in which a campaign's messages leave, on the clocks of its zone (campaigns: 2). Each named
 * day opens when the clocks first show or pass `from`, and closes when they first show or pass
 * `until`: a gap of the clocks can shorten the hours, and a repeated time opens nothing twice. Pure.
 */
import { weekdays } from "./Campaign.ts"
import type { CampaignSettings, SendingHours } from "./Campaign.ts"
import { momentInZone } from "./Cron.ts"
import type { TimeZone } from "./Cron.ts"

/** Minutes after midnight as a clock shows them. */
const clockTime = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":")

/** The hours as requests give them. */
export const toHoursInput = ({ days, from, until }: SendingHours) => ({
  days,
  from: clockTime(from),
  until: clockTime(until),
})

const minuteMillis = 60_000
const dayMillis = 24 * 60 * minuteMillis

/** 1 January 1970 was a Thursday. */
const findWeekday = (day: number) => weekdays[(((day + 3) % 7) + 7) % 7]

interface Opening {
  readonly opens: number
  /** Exclusive. */
  readonly closes: number
}

/** The opening that a moment is in, else the next one. */
const openingAt = (hours: SendingHours, timezone: TimeZone, instant: number): Opening => {
  // No clock is a day away from UTC.
  for (let day = Math.floor(instant / dayMillis) - 1; ; day++) {
    const weekday = findWeekday(day)
    if (weekday === undefined || !hours.days.includes(weekday)) continue
    const at = (minutes: number) => momentInZone(day * dayMillis + minutes * minuteMillis, timezone)
    const closes = at(hours.until)
    if (closes <= instant) continue
    const opens = at(hours.from)
    // Of a day that the clocks skip, or hours within a gap of them, nothing is left.
    if (opens < closes) return { opens, closes }
  }
}

export interface HoursNow {
  readonly isOpen: boolean
  /** When they end, or begin again; null where they do neither. */
  readonly changesAt: number | null
}

/** Whether a campaign's messages may leave at a moment (epoch milliseconds), and until when that holds. */
export const hoursAt = (
  { hours, timezone }: Pick<CampaignSettings, "hours" | "timezone">,
  instant: number,
): HoursNow => {
  if (hours === null || timezone === null) return { isOpen: true, changesAt: null }
  const { closes, opens } = openingAt(hours, timezone, instant)
  if (opens > instant) return { isOpen: false, changesAt: opens }
  let end = closes
  // Days of 24 hours follow each other without an end between them.
  for (let days = 0; days < weekdays.length; days++) {
    const next = openingAt(hours, timezone, end)
    if (next.opens > end) return { isOpen: true, changesAt: end }
    end = next.closes
  }
  return { isOpen: true, changesAt: null }
}
