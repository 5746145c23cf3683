/** Schedules from pattern and zone, and their runs. */
import { Result } from "effect"
import { formatInZone, nextRunAfter, parseCron, parseTimeZone } from "../../src/model/Cron.ts"
import type { ReminderSchedule } from "../../src/model/Cron.ts"

export const schedule = (cron: string, zone: string): ReminderSchedule => ({
  cron: Result.getOrThrow(parseCron(cron)),
  timezone: parseTimeZone(zone)!,
})

/** The runs later than `from` up to `to`, in the zone's wall time. */
export const runs = (of: ReminderSchedule, from: string, to: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let run = nextRunAfter(of, Date.parse(from))
  while (run !== null && run <= Date.parse(to)) {
    found.push(formatInZone(run, of.timezone))
    run = nextRunAfter(of, run)
  }
  return found
}
