/**
 * Instants of requests and answers, and real time. Requests may be more precise than a millisecond,
 * and comparisons use all digits, so an instant keeps those that a number cannot hold.
 */
import { Clock, Context, Effect } from "effect"
import type { Duration } from "effect"
import type { StoreUnavailable } from "./Refusal.ts"

/** A moment between the years 0 and 9999 UTC. */
export interface Instant {
  /** Epoch milliseconds, rounded down. */
  readonly millis: number
  /** The digits of the fraction of a second after the milliseconds, without trailing zeros. */
  readonly beyond: string
}

/** Stored times are whole milliseconds: rounds up to the first one not before the instant. */
export const ceilingMillis = ({ beyond, millis }: Instant): number =>
  millis + (beyond === "" ? 0 : 1)

/** The same of an end of a span in a filter: null without one. */
export const boundMillis = (instant: Instant | undefined): number | null =>
  instant === undefined ? null : ceilingMillis(instant)

/**
 * Reads `YYYY-MM-DDTHH:MM[:SS[.fraction]](Z|±HH:MM|±HHMM)`; `undefined` for what is refused as
 * `invalid_datetime` (contract: JSON and text). Days, hours and leap seconds that no clock of this service
 * shows do not exist, and neither does a moment in a UTC year with a fifth digit or a sign.
 */
export const parseInstant = (text: string): Instant | undefined => {
  const match = shape.exec(text)
  if (match === null) return undefined
  const year = Number(match[1])
  const month = Number(match[2])
  const day = Number(match[3])
  const hour = Number(match[4])
  const minute = Number(match[5])
  const second = Number(match[6] ?? 0)
  const fraction = match[7] ?? ""
  const offsetHour = Number(match[9] ?? 0)
  const offsetMinute = Number(match[10] ?? 0)
  // `Date.UTC` reads the years 0 to 99 as 1900 to 1999; 400 years later the calendar is the same.
  const midnight = Date.UTC(year + 400, month - 1, day)
  const nextMonth = Date.UTC(year + 400, month, 1)
  if (month < 1 || month > 12 || day < 1 || midnight >= nextMonth) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const offset = (offsetHour * 60 + offsetMinute) * (match[8] === "-" ? -1 : 1)
  if (offsetMinute > 59 || offset < minOffset || offset > maxOffset) return undefined
  const seconds = (hour * 60 + minute - offset) * 60 + second
  const millis = midnight - eraMillis + seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, "0"))
  if (millis < firstMillis || millis > lastMillis) return undefined
  return { millis, beyond: withoutTrailingZeros(fraction.slice(3)) }
}

/** Orders two instants at full precision: -1 when `a` is earlier. */
export const compareInstants = (a: Instant, b: Instant): -1 | 0 | 1 => {
  if (a.millis !== b.millis) return a.millis < b.millis ? -1 : 1
  // Fractions without trailing zeros order as their digits do.
  if (a.beyond !== b.beyond) return a.beyond < b.beyond ? -1 : 1
  return 0
}

/** Whether a moment has come: one that is now has. */
export const isPast = (instant: Instant, now: number): boolean =>
  compareInstants(instant, { millis: now, beyond: "" }) <= 0

/**
 * Epoch milliseconds as responses show them: `YYYY-MM-DDTHH:MM:SSZ`, truncated to whole seconds. For the
 * moments that an `Instant` can hold.
 */
export const formatInstant = (millis: number): string => {
  const seconds = Math.floor(millis / 1000)
  const days = Math.floor(seconds / 86_400)
  const rest = seconds - days * 86_400
  const hour = twoDigits(Math.floor(rest / 3600))
  const minute = twoDigits(Math.floor(rest / 60) % 60)
  return `${formatDay(days)}T${hour}:${minute}:${twoDigits(rest % 60)}Z`
}

/**
 * Rounds up to whole seconds, for a time that a caller may give back as `send_at`: answers show no
 * fractions, and a second earlier is too early.
 */
export const wholeSecond = (millis: number): number => Math.ceil(millis / 1000) * 1000

export const instantOrNull = (millis: number | null): string | null =>
  millis === null ? null : formatInstant(millis)

/** Reads back what `instantOrNull` wrote. */
export const millisOrNull = (instant: string | null): number | null =>
  instant === null ? null : Date.parse(instant)

const shape =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(?:Z|([+-])(\d{2}):?(\d{2}))$/

/** Minutes; no zone of the world is further from UTC. */
const minOffset = -12 * 60
const maxOffset = 14 * 60

const firstMillis = -62_167_219_200_000
const lastMillis = 253_402_300_799_999

// A loop, because /0+$/ takes quadratic time on a long run of zeros with something else after it.
const withoutTrailingZeros = (digits: string): string => {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--
  return digits.slice(0, end)
}

/** An era of 400 years; every era has the same number of days. */
const daysPerEra = 146_097
const eraMillis = daysPerEra * 86_400_000
const daysFromEraToEpoch = 719_468

// Years are counted from 1 March, so that the leap day is a year's last. Own arithmetic, because an
// answer shows four times for each message, and `Date.toISOString` takes five times as long.
const formatDay = (daysSinceEpoch: number): string => {
  const days = daysSinceEpoch + daysFromEraToEpoch
  const era = Math.floor(days / daysPerEra)
  const dayOfEra = days - era * daysPerEra
  const leapDays =
    Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365)
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return `${fourDigits(year)}-${twoDigits(month)}-${twoDigits(day)}`
}

const twoDigits = (value: number): string => (value < 10 ? `0${value}` : `${value}`)

const fourDigits = (value: number): string =>
  value >= 1000 ? `${value}` : `${value}`.padStart(4, "0")

/** A moment in a command: a date, or ISO 8601 text with an offset. */
export type Moment = Date | string

/** The text of a date; empty for one that is invalid. Other values are unchanged. */
export const momentText = (value: unknown): unknown => {
  if (!(value instanceof Date)) return value
  return Number.isNaN(value.getTime()) ? "" : value.toISOString()
}

// Waiting that is bound to real seconds and not to the service's clock: the five seconds of a
// cancel, the slow poll of an idle worker, the time-outs of network calls. With an adjustable clock
// the two differ; under the test clock both are the test's.

export interface RealTime {
  readonly sleep: (duration: Duration.Input) => Effect.Effect<void>
  /**
   * Starts a stopwatch, which tells the milliseconds since then: rather too many than too few, also
   * where the process or its machine was paused meanwhile, or its clock was set.
   */
  readonly stopwatch: Effect.Effect<() => number>
  /**
   * Ends once the clock is further on than timers know, because it was set forward or the machine was
   * paused: what sleeps until a moment sleeps too long by then.
   */
  readonly clockJumped: Effect.Effect<void>
  /** The system clock in epoch milliseconds, without the offset of an adjustable clock. */
  readonly systemMillis: Effect.Effect<number>
}

/** Defaults to the current `Clock`, so that a test clock governs it too. */
export const RealTime = /*#__PURE__*/ Context.Reference<RealTime>("core/RealTime", {
  defaultValue: () => ({
    sleep: Effect.sleep,
    stopwatch: Clock.clockWith((clock) =>
      Effect.sync(() => {
        const start = clock.currentTimeMillisUnsafe()
        return () => clock.currentTimeMillisUnsafe() - start
      }),
    ),
    clockJumped: Effect.never,
    systemMillis: Clock.currentTimeMillis,
  }),
})

/**
 * Whether what sleeps has nothing to do by its moment: an adjustable clock that is moved on does not stop
 * there. The sleep still ends once that moment has passed.
 */
export const DeferrableSleep = /*#__PURE__*/ Context.Reference<boolean>("core/DeferrableSleep", {
  defaultValue: () => false,
})

/** Sleeps in real time. */
export const sleep = (duration: Duration.Input): Effect.Effect<void> =>
  Effect.flatMap(RealTime, (realTime) => realTime.sleep(duration))

/** See `RealTime.clockJumped`. */
export const clockJumped: Effect.Effect<void> = Effect.flatMap(RealTime, (time) => time.clockJumped)

/** The port that keeps the adjustable clock's offset, and tells the store's time and whether it answers. */
export interface ClockStore {
  /** Milliseconds that service time is ahead of system time. */
  clockOffset: Effect.Effect<number, StoreUnavailable>
  /** Raises the offset; it never goes back. Returns the one then in force. */
  raiseClockOffset(to: number): Effect.Effect<number, StoreUnavailable>
  /**
   * The store's own time in epoch milliseconds, read when it answers; null for a store in memory,
   * which has no clock.
   */
  databaseTime: Effect.Effect<number | null, StoreUnavailable>
  /** Answers when the store does. */
  ping: Effect.Effect<void, StoreUnavailable>
}
