/**
 * Upcoming runs of reminders. The service reports the next run of each; core's rules compute the later ones.
 */
import type { Reminder } from "@messaging-service/client"
import { formatInZone, nextRunAfter, parseCron, parseTimeZone } from "@messaging-service/core"
import { Result } from "effect"

/** One run, in the local time of its reminder's zone. */
export interface NextRun {
  readonly due_at: string
  readonly reminder: Reminder
}

/** All runs, soonest first, for as long as the caller takes more. Paused reminders have none. */
export function* soonestRuns(reminders: ReadonlyArray<Reminder>): Generator<NextRun> {
  const ahead = reminders.flatMap((reminder) => {
    const runs = listRuns(reminder)
    const { value: first } = runs.next()
    return first === undefined ? [] : [{ runs, run: first }]
  })
  for (;;) {
    // Each time is in its own zone, so the texts do not sort.
    const [soonest] = ahead.toSorted((a, b) => Date.parse(a.run.due_at) - Date.parse(b.run.due_at))
    if (soonest === undefined) return
    yield soonest.run
    const { value: next } = soonest.runs.next()
    if (next === undefined) ahead.splice(ahead.indexOf(soonest), 1)
    else soonest.run = next
  }
}

function* listRuns(reminder: Reminder): Generator<NextRun, undefined> {
  const { cron: pattern, timezone: name } = reminder.schedule
  if (reminder.next_run_at === null) return
  yield { due_at: reminder.next_run_at, reminder }
  const cron = parseCron(pattern)
  const timezone = parseTimeZone(name)
  // The service knows this zone and this machine does not: it cannot compute later runs.
  if (Result.isFailure(cron) || timezone === undefined) return
  let due: number | null = Date.parse(reminder.next_run_at)
  while ((due = nextRunAfter({ cron: cron.success, timezone }, due)) !== null) {
    yield { due_at: formatInZone(due, timezone), reminder }
  }
}
