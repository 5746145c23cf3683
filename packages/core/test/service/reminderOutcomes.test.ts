/** Results of runs: sent, refused, missed, and how the reminder and its log show them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Numbers, Workspaces } from "../../src/index.ts"
import type { Caller } from "../../src/index.ts"
import { list, log, nextRun, patch, read, scheduled, sent, times } from "./Reminding.ts"
import { sendBatch } from "./Operations.ts"
import {
  aPlan,
  aSender,
  day,
  hour,
  inAService,
  minute,
  noon,
  pass,
  settled,
  startWorker,
} from "./Service.ts"

describe("last_run", () => {
  const lastRun = (key: Caller, reminder: { readonly id: number }) =>
    Effect.map(read(key, { id: reminder.id as never }), (found) => found.lastRun)

  it.effect("tells the result of the latest run, and why", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender(1)
        const reminder = yield* scheduled(key, "0 * * * *")
        assert.isNull(reminder.lastRun)
        assert.isNull(yield* lastRun(key, reminder))
        yield* pass(hour)
        const [message] = yield* sent(key)
        const accepted = {
          dueAt: noon + hour,
          outcome: "accepted",
          messageId: message?.id,
          code: null,
        }
        assert.deepStrictEqual<unknown>(yield* lastRun(key, reminder), accepted)
        const changed = yield* patch(key, reminder, { name: "Other" })
        assert.deepStrictEqual<unknown>(changed.lastRun, accepted)
        yield* pass(hour)
        const refused = {
          dueAt: noon + 2 * hour,
          outcome: "refused",
          messageId: null,
          code: "no_credits",
        }
        assert.deepStrictEqual<unknown>(yield* lastRun(key, reminder), refused)
        const listed = yield* list(key)
        assert.deepStrictEqual<unknown>(listed.items[0]?.lastRun, refused)
      }),
    ),
  )

  it.effect("tells of runs that passed during an outage and were not made up", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* scheduled(key, "4 15 * * *")
        yield* TestClock.adjust(4 * hour + 5 * minute)
        yield* startWorker
        yield* settled
        assert.deepStrictEqual<unknown>(yield* lastRun(key, reminder), {
          dueAt: noon + 3 * hour + 4 * minute,
          outcome: "missed",
          messageId: null,
          code: null,
        })
      }),
      { worker: false },
    ),
  )
})

describe("a refused run", () => {
  it.effect("leaves no message, appears in the log, and the reminder continues", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender(1)
        const reminder = yield* scheduled(key, "0 * * * *", "UTC", { from: number })
        const workspaces = yield* Workspaces
        const plan = (messagesRemaining: number, reminders: boolean) => ({
          plan: aPlan({ messagesRemaining, reminders }),
        })
        yield* pass(hour)
        yield* pass(hour)
        yield* workspaces.update("owner", workspace, plan(5, false))
        yield* pass(hour)
        yield* workspaces.update("owner", workspace, { ...plan(5, true), accountDisabled: true })
        yield* pass(hour)
        yield* workspaces.update("owner", workspace, { accountDisabled: false })
        yield* pass(hour)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* pass(hour)
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "accepted", null],
          ["2026-03-02T14:00:00Z", "refused", "no_credits"],
          ["2026-03-02T15:00:00Z", "refused", "plan_required"],
          ["2026-03-02T16:00:00Z", "refused", "account_disabled"],
          ["2026-03-02T17:00:00Z", "accepted", null],
          ["2026-03-02T18:00:00Z", "refused", "number_not_found"],
        ])
        assert.lengthOf(yield* sent(key), 2)
        assert.isTrue((yield* read(key, reminder)).active)
      }),
    ),
  )

  it.effect("for the number's quota of 1,000 returns when there is room", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const reminder = yield* scheduled(key, "0 13 * * *")
        yield* sendBatch(key, 1000)
        yield* pass(2 * day)
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "refused", "number_daily_cap_reached"],
          ["2026-03-03T13:00:00Z", "accepted", null],
        ])
      }),
    ),
  )

  it.effect("a deleted workspace has no runs", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* scheduled(key, "0 * * * *")
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", workspace))
        yield* pass(day)
        assert.deepStrictEqual(yield* sent(key), [])
      }),
    ),
  )
})

describe("runs missed during an outage", () => {
  it.effect("only the latest one within the last hour is made up", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const often = yield* scheduled(key, "*/10 * * * *")
        const hourAgo = yield* scheduled(key, "5 15 * * *")
        const longAgo = yield* scheduled(key, "4 15 * * *")
        yield* TestClock.adjust(4 * hour + 5 * minute)
        yield* startWorker
        yield* settled
        assert.deepStrictEqual(yield* log(workspace, often), [
          ["2026-03-02T16:00:00Z", "accepted", null],
        ])
        assert.deepStrictEqual(yield* log(workspace, hourAgo), [
          ["2026-03-02T15:05:00Z", "accepted", null],
        ])
        assert.deepStrictEqual(yield* log(workspace, longAgo), [
          ["2026-03-02T15:04:00Z", "missed", null],
        ])
        assert.deepStrictEqual(new Set(yield* times(key)), new Set(["2026-03-02T16:05:00Z"]))
        yield* pass(5 * minute)
        assert.lengthOf(yield* log(workspace, often), 2)
        assert.strictEqual(nextRun(yield* read(key, longAgo)), "2026-03-03T15:04:00+00:00")
      }),
      { worker: false },
    ),
  )
})
