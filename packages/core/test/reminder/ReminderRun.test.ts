/** Which of a reminder's due times gets a run. */
import { assert, describe, it } from "@effect/vitest"

import type { Code, NumberId, ReminderId, WorkspaceId } from "../../src/index.ts"
import { catalogue } from "../../src/model/Refusal.ts"
import { nextRunOfChanged, planRun, runRefusalMessage } from "../../src/model/Reminder.ts"
import type { Reminder } from "../../src/model/Reminder.ts"
import type { TimeZone } from "../../src/model/Cron.ts"

const dueAt = Date.parse("2026-01-15T12:10:00Z")
const second = 1000
const minute = 60 * second

const everyTwoMinutes: Reminder = {
  id: 1 as ReminderId,
  workspaceId: 1 as WorkspaceId,
  mode: "live",
  name: "Every two minutes",
  active: true,
  to: { kind: "group", group: "Team" },
  from: null,
  text: "Hello",
  media: null,
  cron: "*/2 * * * *",
  timezone: "UTC" as TimeZone,
  nextRunAt: dueAt,
  createdAt: dueAt - 60 * minute,
  revision: 3,
  lastRun: null,
}

const planAt = (now: number) => planRun(everyTwoMinutes, dueAt, now)

describe("nextRunOfChanged", () => {
  it("runs for no due time twice, where a process with a late clock changes the schedule", () => {
    const hasRun: Reminder = {
      ...everyTwoMinutes,
      nextRunAt: dueAt + 2 * minute,
      lastRun: { dueAt, outcome: "accepted", messageId: null, code: null },
    }
    const changed = { ...hasRun, cron: "*/5 * * * *" }
    for (const behind of [0, 1, 8 * second]) {
      assert.strictEqual(nextRunOfChanged(hasRun, changed, dueAt - behind), dueAt + 5 * minute)
    }
    assert.strictEqual(nextRunOfChanged(everyTwoMinutes, changed, dueAt - 1), dueAt)
  })
})

describe("planRun", () => {
  it("changes nothing before the run is due, as after the clock was set back", () => {
    assert.isNull(planAt(dueAt - 1))
    assert.isNull(planAt(dueAt - 7_772))
    assert.isNull(planAt(dueAt - 90 * minute))
  })

  it("sends at the due time and advances to the next one", () => {
    assert.deepStrictEqual(planAt(dueAt), {
      run: {
        id: everyTwoMinutes.id,
        revision: 3,
        dueAt,
        ranAt: dueAt,
        nextRunAt: dueAt + 2 * minute,
        idempotency: null,
      },
      instead: null,
    })
  })

  it("makes up only the latest due time of the last hour", () => {
    const plan = planAt(dueAt + 3 * 60 * minute + second)
    assert.strictEqual(plan?.run.dueAt, dueAt + 3 * 60 * minute)
    assert.isNull(plan?.instead)
  })
})

describe("the message of a refused run", () => {
  const toMessage = (code: Code, from: NumberId | null = null) => runRefusalMessage(code, { from })

  it("says that no number is connected, where any would do", () => {
    const anyNumber = "No number that reaches this recipient is connected."
    assert.strictEqual(toMessage("from_required"), anyNumber)
    assert.strictEqual(toMessage("username_needs_telegram"), "No Telegram account is connected.")
  })

  it("is the catalogue's otherwise", () => {
    assert.strictEqual(toMessage("no_credits"), catalogue.no_credits.message)
    const code = "username_needs_telegram"
    assert.strictEqual(toMessage(code, 7 as NumberId), catalogue[code].message)
  })
})
