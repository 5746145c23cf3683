/**
 * When a reminder runs, as its five fields write it: minute, hour, day of month, month, day of week
 * (contract: Schedules). The fields are read here, because `cron-parser` takes some that the contract refuses
 * (six fields, `@daily`, `L`, `?`, `5/15`) and refuses some that it takes (a list that names a value twice).
 * Which days match is the work of that library, asked in UTC, where every day has 24 hours. What becomes of
 * the times of those days where a zone's clocks change is decided in `Schedule.ts`.
 */
import { CronDate, CronExpressionParser } from "cron-parser"
import { Result } from "effect"

/**
 * A pattern that runs at some time. Wall times are what a clock on the wall shows, in milliseconds counted as
 * if that clock were in UTC.
 */
export interface Cron {
  /** As it was given. */
  readonly text: string
  /**
   * Whether the pattern is hourly or more frequent: its hour field names all 24 hours, as `*` and `0-23` do.
   * A pattern that leaves out an hour (`2`, `9-17`, a star with a step of 2) names fixed times, however many
   * in an hour.
   */
  readonly everyHour: boolean
  /** The first wall time of the pattern later than `wall`; `undefined` past the year 9999. */
  readonly wallTimeAfter: (wall: number) => number | undefined
}

/** What is wrong with a pattern; a field's name when that field cannot be read or leaves its range. */
export type CronProblem = "too_long" | "not_five_fields" | FieldName | "never_runs"

/**
 * Reads a pattern: five fields with one space between them, each a list of `*`, `3` and `1-5`, the star and
 * the range also with a step (`1-30/5`), months and days of the week also by name in any case, Sunday as 0 or
 * 7, and `sun` also at the end of a range (`fri-sun`). With day of month and day of week both given (anything but a bare `*`) either one fires. What it fails
 * with is refused as `invalid_cron`.
 */
export const parseCron = (text: string): Result.Result<Cron, CronProblem> => {
  if (text.length > longestText) return Result.fail("too_long")
  const [minuteText, hourText, dayText, monthText, weekdayText, ...more] = text.split(" ")
  if (
    minuteText === undefined ||
    hourText === undefined ||
    dayText === undefined ||
    monthText === undefined ||
    weekdayText === undefined ||
    more.length > 0
  ) {
    return Result.fail("not_five_fields")
  }
  return Result.gen(function* () {
    const minutes = yield* parseField(minuteText, minuteField)
    const hours = yield* parseField(hourText, hourField)
    const days = yield* parseField(dayText, dayField)
    const months = yield* parseField(monthText, monthField)
    const weekdays = yield* parseField(weekdayText, weekdayField)
    const earliestDay = days[0] ?? 1
    const comes = weekdayText !== "*" || months.some((month) => earliestDay <= daysIn(month))
    if (!comes) return yield* Result.fail<CronProblem>("never_runs")
    const dayPattern = [
      dayText === "*" ? "*" : days.join(","),
      monthText === "*" ? "*" : months.join(","),
      weekdayText === "*" ? "*" : weekdays.join(","),
    ].join(" ")
    return {
      text,
      everyHour: hours.length === 24,
      wallTimeAfter: wallTimes(
        hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * minuteMillis)),
        dayPattern === "* * *" ? (day) => day : matchingDays(dayPattern),
      ),
    }
  })
}

type FieldName = "minute" | "hour" | "day_of_month" | "month" | "day_of_week"

interface Field {
  readonly name: FieldName
  readonly first: number
  /** The last value that `*` stands for. */
  readonly last: number
  /** Names of the values from `first` on. */
  readonly names?: ReadonlyArray<string>
  /** A second way to write `first`, behind `last`. */
  readonly alias?: number
}

const minuteField: Field = { name: "minute", first: 0, last: 59 }
const hourField: Field = { name: "hour", first: 0, last: 23 }
const dayField: Field = { name: "day_of_month", first: 1, last: 31 }
const monthField: Field = {
  name: "month",
  first: 1,
  last: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
}
const weekdayField: Field = {
  name: "day_of_week",
  first: 0,
  last: 6,
  names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
  alias: 7,
}

/** Twice the length of a pattern that writes out every value of every field. */
const longestText = 1000

const minuteMillis = 60_000
const dayMillis = 86_400_000

/** 1 January of the year 10000. */
const endDay = 2_932_897

const itemForm = /^(?:\*|([0-9]+|[a-z]{3})(?:-([0-9]+|[a-z]{3}))?)(?:\/([0-9]+))?$/i

/** The values that a field names, in ascending order. */
const parseField = (
  text: string,
  field: Field,
): Result.Result<ReadonlyArray<number>, CronProblem> => {
  const values = new Set<number>()
  for (const item of text.split(",")) {
    const range = parseItem(item, field)
    if (range === undefined) return Result.fail(field.name)
    for (let value = range.from; value <= range.to; value += range.step) {
      values.add(value === field.alias ? field.first : value)
    }
  }
  return Result.succeed([...values].toSorted((a, b) => a - b))
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

const parseItem = (item: string, field: Field): Range | undefined => {
  const match = itemForm.exec(item)
  if (match === null) return undefined
  const [, fromText, toText, stepText] = match
  const step = stepText === undefined ? 1 : Number(stepText)
  if (step === 0) return undefined
  if (fromText === undefined) return { from: field.first, to: field.last, step }
  // `5/15` is read in two ways by other programs: as 5 alone and as 5-59/15.
  if (toText === undefined && stepText !== undefined) return undefined
  const from = parseValue(fromText, field)
  const to = toText === undefined ? from : parseRangeEnd(toText, field, from)
  if (from === undefined || to === undefined || from > to) return undefined
  return { from, to, step }
}

/** A name also ends a range by its alias, as `mon-sun` does, where the range begins behind its first value. */
const parseRangeEnd = (
  text: string,
  field: Field,
  from: number | undefined,
): number | undefined => {
  const to = parseValue(text, field)
  const isNamedFirst = to === field.first && !/^[0-9]/.test(text)
  return isNamedFirst && from !== field.first ? (field.alias ?? to) : to
}

const parseValue = (text: string, field: Field): number | undefined => {
  const index = field.names?.indexOf(text.toLowerCase()) ?? -1
  const value = index === -1 ? Number(text) : field.first + index
  return value >= field.first && value <= (field.alias ?? field.last) ? value : undefined
}

/** In the longest year. */
const daysIn = (month: number): number => {
  if (month === 2) return 29
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Days are counted since 1970. */
type FirstDayFrom = (day: number) => number

/** Answers for the day of month, month and day of week fields. */
const matchingDays = (dayPattern: string): FirstDayFrom => {
  const expression = CronExpressionParser.parse(`0 0 ${dayPattern}`, { tz: "UTC" })
  // A caller goes on from the last answer, or asks again about the days that lead to it.
  let asked = 0
  let answer = -1
  return (day) => {
    if (day < asked || day > answer) {
      expression.reset(new CronDate(day * dayMillis - 1000, "UTC"))
      asked = day
      answer = Math.floor(expression.next().getTime() / dayMillis)
    }
    return answer
  }
}

/** Puts times of the day, in ascending order, and days together. */
const wallTimes =
  (times: ReadonlyArray<number>, firstDayFrom: FirstDayFrom) =>
  (wall: number): number | undefined => {
    const today = Math.floor(wall / dayMillis)
    if (today >= endDay) return undefined
    const time = times.find((candidate) => candidate > wall - today * dayMillis)
    const day = firstDayFrom(time === undefined ? today + 1 : today)
    if (day >= endDay) return undefined
    return day * dayMillis + ((day === today ? time : times[0]) ?? 0)
  }
