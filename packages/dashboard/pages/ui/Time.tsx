/** Times as people read them: today's by the clock, older ones with their day; a tooltip has the exact one. */
import { useServiceTime } from "../api/serviceTime.ts"

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" })
const utc = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
  timeZone: "UTC",
})
const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
})
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" })
const minute = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
})
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

const isToday = (at: number, now: number): boolean =>
  new Date(at).toDateString() === new Date(now).toDateString()

/** A time by the clock, which can be compared with others: today's by the second, others with their day. */
export const clockTime = (at: number, now: number): string =>
  isToday(at, now) ? clock.format(at) : `${day.format(at)}, ${minute.format(at)}`

/** `how`: `ago` counts with the service's clock, `clock` never moves, so that times can be compared. */
export const When = ({ at, how = "ago" }: { at: string; how?: "ago" | "clock" }) => {
  const now = useServiceTime()
  const instant = Date.parse(at)
  const exact = `${absolute.format(instant)} · ${utc.format(instant)} UTC`
  const formatted = how === "ago" ? fromNow(instant, now) : clockTime(instant, now)
  return (
    <time dateTime={at} title={exact} aria-label={exact} className="tabular-nums">
      {formatted}
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

export const formatHour = (at: number): string => minute.format(at)
export const formatDay = (at: number): string => day.format(at)
