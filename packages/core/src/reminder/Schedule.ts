/**
 * The runs of a reminder: its pattern held against the clocks of its zone. `cron-parser` is not asked where clocks
 * change: behind a gap it runs once for each minute that was skipped, it loses runs where the gap is half an hour (Lord
 * Howe), and of a time that occurs twice there it takes the second.
 *
 * The rules come down to two readings. An hourly or more frequent pattern runs at every moment at which the clocks show
 * one of its wall times. Any other pattern runs for each of its wall times at the moment when the clocks first show it or
 * have gone past it: that is once where it occurs twice, and at the end of the gap where it was skipped, at the same
 * moment for all that were.
 */
import type { Cron } from "./Cron.ts"
import { periodAt } from "./TimeZone.ts"
import type { TimeZone } from "./TimeZone.ts"

/** When a reminder runs. */
export interface ReminderSchedule {
  readonly cron: Cron
  readonly timezone: TimeZone
}

/** The first run later than `after` (epoch milliseconds); `null` when it would be past the zone's year 9999. */
export const nextRunAfter = (schedule: ReminderSchedule, after: number): number | null => {
  if (after >= lastMillis) return null
  return schedule.cron.everyHour ? nextShown(schedule, after) : nextReached(schedule, after)
}

/**
 * The last run later than `from` and no later than `to` (epoch milliseconds); `null` when there is none. It is the one of
 * the missed runs that is made up.
 */
export const latestRunIn = (
  schedule: ReminderSchedule,
  from: number,
  to: number,
): number | null => {
  const first = nextRunAfter(schedule, from)
  if (first === null || first > to) return null
  let latest = first
  // No run up to `to` is later than `end`. Halving spares the walk over each minute of a long time.
  let end = to
  while (latest < end) {
    const middle = Math.floor((latest + end) / 2)
    const run = nextRunAfter(schedule, middle)
    if (run !== null && run <= end) latest = run
    else end = middle
  }
  return latest
}

/** The first moment later than `after` at which the clocks show a wall time of the pattern. */
const nextShown = ({ cron, timezone }: ReminderSchedule, after: number): number | null => {
  let moment = after + 1
  while (true) {
    const period = periodAt(timezone, moment)
    const wall = cron.wallTimeAfter(moment + period.offset - 1)
    if (wall === undefined) return null
    const run = wall - period.offset
    if (run < period.end) return run
    moment = period.end
  }
}

/** The first moment later than `after` at which the clocks reach a wall time of the pattern, or leap over one. */
const nextReached = ({ cron, timezone }: ReminderSchedule, after: number): number | null => {
  const wall = cron.wallTimeAfter(reachedBy(timezone, after))
  if (wall === undefined) return null
  // No clock is a day from UTC: up to a day before, none can have shown it.
  let moment = Math.max(after + 1, wall - dayMillis)
  while (true) {
    const period = periodAt(timezone, moment)
    const run = Math.max(period.start, wall - period.offset)
    if (run < period.end) return run
    moment = period.end
  }
}

/** The latest wall time that the clocks have shown or leapt over until then; clocks that were put back show less. */
const reachedBy = (timezone: TimeZone, millis: number): number => {
  let period = periodAt(timezone, millis)
  let reached = millis + period.offset
  while (period.start > millis - 2 * dayMillis) {
    period = periodAt(timezone, period.start - 1)
    reached = Math.max(reached, period.end - 1 + period.offset)
  }
  return reached
}

const dayMillis = 86_400_000

/** A day into the year 10000 in UTC, when the year 9999 is over in every zone. */
const lastMillis = 253_402_387_200_000
