/** Schedules in words lead to the pattern that the service takes, and back. */
import { assert, it } from "vitest"
import { describeCron, parseSimple, toCron, zonedTime } from "../pages/reminders/schedule.ts"

it("a pattern with words of its own comes back as it was", () => {
  const described = [
    ["0 9 * * *", "Every day at 09:00"],
    ["30 17 * * 1-5", "On weekdays at 17:30"],
    ["5 16 * * 0", "Every Sunday at 16:05"],
    ["0 9 1 * *", "Monthly on the 1st at 09:00"],
    ["0 9 22 * *", "Monthly on the 22nd at 09:00"],
    ["0 9 13 * *", "Monthly on the 13th at 09:00"],
  ] as const
  for (const [cron, text] of described) {
    assert.strictEqual(describeCron(cron), text)
    const simple = parseSimple(cron)
    assert.strictEqual(simple === null ? null : toCron(simple), cron)
  }
})

it("a pattern that says more has no words", () => {
  for (const cron of [
    "0 * * * *",
    "*/5 9 * * *",
    "0 9 1 1 *",
    "0 9 1 * 1",
    "0 24 * * *",
    "0 9",
    "",
  ])
    assert.isNull(describeCron(cron), cron)
})

it("a run has its year where that is not this one", () => {
  const now = Date.parse("2026-11-30T12:00:00Z")
  assert.notInclude(zonedTime("2026-12-01T09:00:00+01:00", now).at, "2026")
  assert.include(zonedTime("2027-01-01T09:00:00+01:00", now).at, "2027")
})
