/** Schedules and their times as people read them, in the schedule's own zone. */
import { dayNames, ordinalDay, scheduleTexts } from "./words.ts"

/** How often a schedule that has no need of a cron pattern repeats. */
export type Repeat = keyof typeof scheduleTexts

export interface Simple {
  readonly repeat: Repeat
  /** Such as 09:00. */
  readonly time: string
  /** From 0, Sunday, to 6. */
  readonly weekday: number
  readonly monthDay: number
}

const patterns: Readonly<Record<Repeat, RegExp>> = {
  daily: /^\* \* \*$/,
  weekdays: /^\* \* 1-5$/,
  weekly: /^\* \* [0-7]$/,
  monthly: /^\d+ \* \*$/,
}

const repeats = Object.keys(patterns) as ReadonlyArray<Repeat>

/** A pattern that repeats in one of these ways, at one time of the day; null for any other. */
export const parseSimple = (cron: string): Simple | null => {
  const [minute = "", hour = "", ...days] = cron.trim().split(/\s+/)
  const repeat = repeats.find((one) => patterns[one].test(days.join(" ")))
  const monthDay = repeat === "monthly" ? Number(days[0]) : 1
  const isTime = [minute, hour].every((part) => /^\d{1,2}$/.test(part))
  if (repeat === undefined || !isTime || Number(hour) > 23 || Number(minute) > 59) return null
  if (monthDay < 1 || monthDay > 31) return null
  return {
    repeat,
    time: `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`,
    weekday: repeat === "weekly" ? Number(days[2]) % 7 : 1,
    monthDay,
  }
}

export const toCron = ({ monthDay, repeat, time, weekday }: Simple): string => {
  const [hour, minute] = time.split(":").map(Number)
  const days = {
    daily: "* * *",
    weekdays: "* * 1-5",
    weekly: `* * ${weekday}`,
    monthly: `${monthDay} * *`,
  }
  return `${minute ?? 0} ${hour ?? 0} ${days[repeat]}`
}

/** Such as "On weekdays at 09:00"; null for a pattern that has no such words. */
export const describeCron = (cron: string): string | null => {
  const simple = parseSimple(cron)
  if (simple === null) return null
  const day = simple.repeat === "weekly" ? dayNames[simple.weekday] : ordinalDay(simple.monthDay)
  return scheduleTexts[simple.repeat](simple.time, day ?? "")
}

// The text has the zone's own time: read as UTC it is shown as it stands.
const timeZone = "UTC"
const day = { weekday: "long", day: "numeric", month: "long" } as const
const thisYear = new Intl.DateTimeFormat(undefined, { ...day, timeZone })
const otherYear = new Intl.DateTimeFormat(undefined, { ...day, year: "numeric", timeZone })
const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  timeZone,
})

/** A time such as `2026-12-01T09:00:00+01:00`, with the year where that is not this one, and its offset. */
export const zonedTime = (local: string, now: number): { at: string; offset: string } => {
  const [, time = "", offset = ""] = /^(.{19})(?:\.\d+)?(.*)$/.exec(local) ?? []
  const at = Date.parse(`${time}Z`)
  const isThisYear = new Date(at).getUTCFullYear() === new Date(now).getUTCFullYear()
  const words = (isThisYear ? thisYear : otherYear).format(at)
  return { at: `${words}, ${clock.format(at)}`, offset: offset === "Z" ? "UTC" : offset }
}
