import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import {
  formatInZone,
  nextRunAfter,
  parseCron,
  parseTimeZone,
  zoneNames,
} from "../../src/model/Cron.ts"
import type { ReminderSchedule } from "../../src/model/Cron.ts"
import { patterns } from "./patterns.ts"
import { namedMinutes, runsByDefinition, walk } from "./WalkedClock.ts"

const minuteMillis = 60_000
const day = 1440
const minutesSince1970 = (date: string) => Date.parse(date) / minuteMillis

/**
 * Eleven months with a day that Samoa and Tokelau skipped and Morocco's double summer time, and
 * months of a future year with clock changes. Both include a 29 February.
 */
const spans = [
  ["2011-12-20T00:00Z", "2012-11-15T00:00Z"],
  ["2028-02-20T00:00Z", "2028-11-15T00:00Z"],
] as const

/** A day: no clock changes twice within one. */
const stride = day

/** All runs of a schedule later than `after` and before `end`. */
const runsBetween = (schedule: ReminderSchedule, after: number, end: number) => {
  const runs: Array<number> = []
  for (
    let run = nextRunAfter(schedule, after);
    run !== null && run < end;
    run = nextRunAfter(schedule, run)
  ) {
    runs.push(run)
  }
  return runs
}

const assertSameRuns = (
  name: string,
  schedule: ReminderSchedule,
  actual: ReadonlyArray<number>,
  expected: ReadonlyArray<number>,
) => {
  const at = expected.findIndex((run, i) => run !== actual[i])
  if (at === -1 && actual.length === expected.length) return
  const show = (run: number | undefined) =>
    run === undefined ? "no run" : formatInZone(run, schedule.timezone)
  const index = at === -1 ? expected.length : at
  assert.fail(`${name}: ${show(actual[index])} instead of ${show(expected[index])}`)
}

/** Where a clock changed, in minutes from the span's start, and the runs of each pattern. */
interface Expectation {
  readonly changes: ReadonlyArray<number>
  readonly runs: ReadonlyArray<ReadonlyArray<number>>
}

describe("the runs in every zone of the tz database", () => {
  for (const [from, to] of spans) {
    const start = minutesSince1970(from)
    const end = minutesSince1970(to)
    const millisAt = (minute: number) => (start + minute) * minuteMillis

    it.effect(`match the definition, ${from} to ${to}`, () =>
      Effect.sync(() => {
        const cases = patterns.map((pattern) => ({
          pattern,
          cron: Result.getOrThrow(parseCron(pattern.cron)),
          named: namedMinutes(pattern, start - 2 * day, end + 2 * day),
        }))

        // Names that are one zone to Intl share a walk; zones with identical clocks share the definition.
        const byZone = new Map<string, Expectation>()
        const byClock = new Map<string, Expectation>()
        const toExpectation = (name: string): Expectation => {
          const zone = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions()
            .timeZone
          const known = byZone.get(zone)
          if (known !== undefined) return known
          const clock = walk(zone, start, end, stride)
          const { changes, shown } = clock
          const showed = [shown[0], ...changes.flatMap((i) => [i, shown[i]])].join()
          const expectation = byClock.get(showed) ?? {
            changes,
            runs: cases.map(({ named, pattern }) => runsByDefinition(clock, pattern, named)),
          }
          byZone.set(zone, expectation)
          byClock.set(showed, expectation)
          return expectation
        }

        const tried = new Set<Expectation>()
        for (const name of zoneNames) {
          const timezone = parseTimeZone(name)!
          const expectation = toExpectation(name)
          const { changes } = expectation
          for (const [i, { cron, pattern }] of cases.entries()) {
            const schedule = { cron, timezone }
            const expected = expectation.runs[i]!
            // Nothing new happens between changes. So only a tenth of the clocks is walked whole,
            // in the first months. The others are walked for ten days and around each change; so
            // are frequent patterns outside the first months, and everything in the later ones.
            const isShortened = expected.length > (4 * (end - start)) / day || from !== spans[0][0]
            const windows =
              tried.has(expectation) || tried.size % 10 > 0 || (isShortened && tried.size > 0)
                ? [
                    [2 * day, 12 * day] as const,
                    ...changes
                      .filter((change) => change > 3 * day)
                      .map((change) => [change - day, change + day] as const),
                  ]
                : [[2 * day, end - start] as const]
            for (const [first, last] of windows) {
              assertSameRuns(
                `${pattern.cron} in ${name}`,
                schedule,
                runsBetween(schedule, millisAt(first) - 1, millisAt(last)),
                expected.slice(
                  firstIndexAfter(expected, millisAt(first) - 1),
                  firstIndexAfter(expected, millisAt(last) - 1),
                ),
              )
            }
            // From any moment around a change, in the repeated hour too.
            for (const change of changes) {
              for (let minute = change - 100; minute < change + 200; minute += 33) {
                const after = millisAt(minute) + 17
                const next = expected[firstIndexAfter(expected, after)]
                if (minute < 2 * day || next === undefined) continue
                assertSameRuns(
                  `${pattern.cron} in ${name} after ${formatInZone(after, timezone)}`,
                  schedule,
                  [nextRunAfter(schedule, after)!],
                  [next],
                )
              }
            }
          }
          tried.add(expectation)
        }
        assert.isAbove(tried.size, 50)
      }),
    )
  }
})

/** The index of the first run later than `after`. */
const firstIndexAfter = (runs: ReadonlyArray<number>, after: number): number => {
  let low = 0
  let high = runs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (runs[middle]! > after) high = middle
    else low = middle + 1
  }
  return low
}
