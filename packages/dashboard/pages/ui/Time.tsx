/** Times as people read them: today's by the clock, older ones with their day; a tooltip has the exact one. */
import { useServiceTime } from "../api/serviceTime.ts"
import { zoneLabels } from "./words.ts"
import { getZone, useZone } from "./zone.ts"

const inUtc = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
  timeZone: "UTC",
})

/** Those of one zone: making them costs more than using them. */
const makeFormats = (timeZone: string) => {
  const make = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(undefined, { timeZone, ...options })
  const minute = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const
  const day = { month: "short", day: "numeric" } as const
  return {
    timeZone,
    absolute: make({ dateStyle: "medium", timeStyle: "long" }),
    clock: make({ ...minute, second: "2-digit" }),
    minute: make(minute),
    day: make(day),
    dayAndYear: make({ ...day, year: "numeric" }),
    year: make({ year: "numeric" }),
  }
}

let formats: ReturnType<typeof makeFormats> | undefined

const getFormats = (zone = getZone()) =>
  formats?.timeZone === zone ? formats : (formats = makeFormats(zone))

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" })
const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const

const fromNow = (at: number, now: number): string => {
  const seconds = Math.round((at - now) / 1000)
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units[3]
  return relative.format(Math.trunc(seconds / size), unit)
}

/** A day, with its year where that is not this one. */
const dayText = (at: number, now: number, zone?: string): string => {
  const { day, dayAndYear, year } = getFormats(zone)
  return (year.format(at) === year.format(now) ? day : dayAndYear).format(at)
}

/** A time by the clock, which can be compared with others: today's by the second, others with their day. */
export const clockTime = (at: number, now: number, zone?: string): string => {
  const { clock, dayAndYear, minute } = getFormats(zone)
  return dayAndYear.format(at) === dayAndYear.format(now)
    ? clock.format(at)
    : `${dayText(at, now, zone)}, ${minute.format(at)}`
}

/** The whole time, and that in UTC. */
const exactTime = (at: number, zone: string): string => {
  const own = zone === "UTC" ? "" : `${getFormats(zone).absolute.format(at)} · `
  return `${own}${inUtc.format(at)} UTC`
}

/** `how`: `ago` counts with the service's clock, `clock` never moves, so that times can be compared. */
export const When = ({ at, how = "ago" }: { at: string; how?: "ago" | "clock" }) => {
  const now = useServiceTime()
  const zone = useZone()
  const instant = Date.parse(at)
  const exact = exactTime(instant, zone)
  const formatted = how === "ago" ? fromNow(instant, now) : clockTime(instant, now, zone)
  return (
    <time dateTime={at} title={exact} aria-label={exact} className="tabular-nums">
      {formatted}
    </time>
  )
}

/** The service's time by the second, and the zone of every time on the page. */
export const ServiceClock = () => {
  const now = useServiceTime()
  const zone = useZone()
  return (
    <time dateTime={new Date(now).toISOString()} title={exactTime(now, zone)}>
      {getFormats(zone).clock.format(now)} {zoneLabels.zone(zone)}
    </time>
  )
}

/** A time that is still to come, after its words; nothing once it has passed. */
export const Ahead = ({ at, text }: { at: string; text: string }) => {
  const now = useServiceTime()
  return Date.parse(at) <= now ? null : (
    <>
      {text}
      <When at={at} />
    </>
  )
}

/** A span in the largest unit that says enough: 340 ms, 2.4 s, 3 min, 5 h. */
export const span = (millis: number): string => {
  if (millis < 1000) return `${Math.round(millis)} ms`
  if (millis < 10_000) return `${(millis / 1000).toFixed(1)} s`
  if (millis < 90_000) return `${Math.round(millis / 1000)} s`
  if (millis < 5_400_000) return `${Math.round(millis / 60_000)} min`
  if (millis < 172_800_000) return `${Math.round(millis / 3_600_000)} h`
  return `${Math.round(millis / 86_400_000)} d`
}

/** Minutes and seconds that are left. */
export const left = (millis: number): string => {
  const seconds = Math.max(0, Math.round(millis / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
}

export const formatHour = (at: number): string => getFormats().minute.format(at)
export const formatDay = (at: number): string => dayText(at, Date.now())
