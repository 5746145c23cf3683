/** Previews of schedules: the runs to come, and what clock changes do to them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { previewRuns } from "../../src/model/Cron.ts"
import { patterns } from "./patterns.ts"
import { runs as listRuns, schedule } from "./ScheduledRuns.ts"

const preview = (cron: string, zone: string, after: string, count: number) =>
  previewRuns(schedule(cron, zone), Date.parse(after), count)

const marked = ({ runs }: ReturnType<typeof previewRuns>) =>
  runs.map(({ local, mark }) => (mark === null ? local : `${local} ${mark}`))

const berlinSpring = { at: Date.parse("2026-03-29T01:00Z"), from: "+01:00", to: "+02:00" }
const berlinAutumn = { at: Date.parse("2026-10-25T01:00Z"), from: "+02:00", to: "+01:00" }

describe("a preview", () => {
  it.effect("marks a run that a gap moves", () =>
    Effect.sync(() => {
      const found = preview("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00Z", 3)
      assert.deepStrictEqual(marked(found), [
        "2026-03-28T02:30:00+01:00",
        "2026-03-29T03:00:00+02:00 moved",
        "2026-03-30T02:30:00+02:00",
      ])
      assert.deepStrictEqual(found.skipped, [])
      assert.deepStrictEqual(found.clockChanges, [berlinSpring])
    }),
  )

  it.effect("lists the skipped times that run together with another", () =>
    Effect.sync(() => {
      const gathered = preview("0,20,40 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", 2)
      assert.strictEqual(marked(gathered)[0], "2026-03-29T03:00:00+02:00 moved")
      assert.deepStrictEqual(gathered.skipped, ["2026-03-29T02:20", "2026-03-29T02:40"])
      // At three it runs in any case.
      const three = preview("0,30 2-3 * * *", "Europe/Berlin", "2026-03-28T12:00Z", 2)
      assert.strictEqual(marked(three)[0], "2026-03-29T03:00:00+02:00")
      assert.deepStrictEqual(three.skipped, ["2026-03-29T02:00", "2026-03-29T02:30"])
    }),
  )

  it.effect("lists the hours that hourly patterns lose, and marks those they have twice", () =>
    Effect.sync(() => {
      const spring = preview("15 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", 3)
      assert.deepStrictEqual(marked(spring), [
        "2026-03-29T01:15:00+01:00",
        "2026-03-29T03:15:00+02:00",
        "2026-03-29T04:15:00+02:00",
      ])
      assert.deepStrictEqual(spring.skipped, ["2026-03-29T02:15"])
      const autumn = preview("15 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", 3)
      assert.deepStrictEqual(marked(autumn), [
        "2026-10-25T02:15:00+02:00",
        "2026-10-25T02:15:00+01:00 repeated",
        "2026-10-25T03:15:00+01:00",
      ])
      assert.deepStrictEqual(autumn.clockChanges, [berlinAutumn])
    }),
  )

  it.effect("runs a fixed time that occurs twice once, without a mark", () =>
    Effect.sync(() => {
      const found = preview("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2)
      assert.deepStrictEqual(marked(found), [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
      ])
    }),
  )

  it.effect("follows a date line that leaves out a day", () =>
    Effect.sync(() => {
      const found = preview("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00Z", 3)
      assert.deepStrictEqual(marked(found), [
        "2011-12-29T12:00:00-10:00",
        "2011-12-31T00:00:00+14:00 moved",
        "2011-12-31T12:00:00+14:00",
      ])
    }),
  )

  it.effect("of a rare pattern lists the clock changes of the next five years alone", () =>
    Effect.sync(() => {
      const { clockChanges, runs } = preview("0 9 29 2 *", "Europe/Berlin", "2026-01-01T00:00Z", 50)
      assert.lengthOf(runs, 50)
      assert.lengthOf(clockChanges, 10)
    }),
  )

  it.effect.each(patterns)("shows the runs that the rule gives: $cron", ({ cron }) =>
    Effect.sync(() => {
      const from = "2026-01-01T00:00Z"
      const { runs } = preview(cron, "America/New_York", from, 20)
      const last = new Date(runs.at(-1)?.at ?? 0).toISOString()
      assert.deepStrictEqual(
        runs.map(({ local }) => local),
        listRuns(schedule(cron, "America/New_York"), from, last),
      )
    }),
  )
})
