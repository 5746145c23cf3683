/** Runs that an operator asks for, and previews of schedules. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Reminders, Workspaces } from "../../src/index.ts"
import type { Caller, ReminderId, Role, WorkspaceId } from "../../src/index.ts"
import { log, nextRun, patch, read, refusedAs, remove, scheduled, sent } from "./Reminding.ts"
import { aPlan, aSender, aWorkspace, hour, inAService, minute, noon, pass } from "./Service.ts"

interface Target {
  readonly workspace: WorkspaceId
  readonly id: ReminderId
}

const run = ({ id, workspace }: Target, key: string | null = null, role: Role = "owner") =>
  Reminders.use((reminders) =>
    reminders.run(role, workspace, id, key === null ? null : { key, fingerprint: "same" }),
  )

const aReminder = (caller: Caller, workspace: WorkspaceId, cron = "0 9 * * *") =>
  Effect.map(scheduled(caller, cron), (created) => ({
    created,
    target: { workspace, id: created.id },
  }))

describe("a run at once", () => {
  it.effect("sends a message and logs its run, and the schedule goes on as before", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const { created, target } = yield* aReminder(key, workspace, "0 * * * *")
        yield* pass(10 * minute)
        const { answer } = yield* run(target)
        yield* pass(50 * minute)
        const [first, second, ...others] = yield* sent(key)
        assert.deepStrictEqual(answer, {
          id: answer.id,
          dueAt: noon + 10 * minute,
          ranAt: noon + 10 * minute,
          outcome: "accepted",
          messageId: first?.id ?? null,
          code: null,
        })
        assert.deepStrictEqual(
          [first?.status, second?.created_at, others],
          ["sent", "2026-03-02T13:00:00Z", []],
        )
        assert.deepStrictEqual(yield* log(workspace, created), [
          ["2026-03-02T12:10:00Z", "accepted", null],
          ["2026-03-02T13:00:00Z", "accepted", null],
        ])
      }),
    ),
  )

  it.effect("runs a paused reminder, which stays paused", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const { created, target } = yield* aReminder(key, workspace)
        yield* patch(key, created, { active: false })
        assert.strictEqual((yield* run(target)).answer.outcome, "accepted")
        const now = yield* read(key, created)
        assert.deepStrictEqual([now.active, nextRun(now)], [false, null])
      }),
    ),
  )

  it.effect("makes one message for each idempotency key, whatever happens to the reminder", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const { created, target } = yield* aReminder(key, workspace)
        const first = yield* run(target, "monday")
        const [again, other] = [yield* run(target, "monday"), yield* run(target, "tuesday")]
        yield* remove(key, created)
        const late = yield* run(target, "monday")
        assert.deepStrictEqual(
          [again, late],
          [
            { ...first, replayed: true },
            { ...first, replayed: true },
          ],
        )
        assert.isFalse(other.replayed)
        assert.lengthOf(yield* sent(key), 2)
        assert.strictEqual(yield* refusedAs(run(target)), "reminder_not_found")
      }),
    ),
  )

  it.effect("is refused as a due run would be, in the log and in the answer", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(1)
        const { created, target } = yield* aReminder(key, workspace)
        const codes = []
        codes.push((yield* run(target)).answer.code)
        codes.push((yield* run(target, "once")).answer.code)
        const change = (fields: object) =>
          Workspaces.use((workspaces) => workspaces.update("owner", workspace, fields))
        yield* change({ plan: aPlan({ reminders: false }) })
        codes.push((yield* run(target)).answer.code)
        yield* change({ accountDisabled: true })
        codes.push((yield* run(target)).answer.code)
        const refused = ["no_credits", "plan_required", "account_disabled"]
        assert.deepStrictEqual<unknown>(codes, [null, ...refused])
        const logged = (yield* log(workspace, created)).map(([, , code]) => code)
        assert.deepStrictEqual<unknown>(logged, [null, ...refused])
        const again = yield* run(target, "once")
        assert.deepStrictEqual([again.answer.code, again.replayed], ["no_credits", true])
        assert.lengthOf(yield* sent(key), 1)
      }),
    ),
  )

  it.effect("takes a role that may change reminders, in the reminder's own workspace", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const { target } = yield* aReminder(key, workspace)
        assert.strictEqual(yield* refusedAs(run(target, null, "member")), "role_required")
        const elsewhere = { ...target, workspace: yield* aWorkspace() }
        assert.strictEqual(yield* refusedAs(run(elsewhere)), "reminder_not_found")
        assert.isEmpty(yield* sent(key))
      }),
    ),
  )
})

describe("a preview", () => {
  const preview = (workspace: WorkspaceId, schedule: object, count?: number) =>
    Reminders.use((reminders) =>
      reminders.preview(workspace, { schedule: schedule as never, count }),
    )

  it.effect("shows the runs that a reminder would have from now on", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const { created } = yield* aReminder(key, workspace)
        const { runs } = yield* preview(workspace, { cron: "0 9 * * *" })
        assert.deepStrictEqual([runs[0]?.local, runs.length], [nextRun(created), 10])
        const zoned = { cron: "0 9 * * *", timezone: "Asia/Tokyo" }
        assert.deepStrictEqual((yield* preview(workspace, zoned, 1)).runs, [
          { at: noon + 12 * hour, local: "2026-03-03T09:00:00+09:00", mark: null },
        ])
      }),
    ),
  )

  it.effect("is refused as a reminder with that schedule would be", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const refusals = []
        for (const [schedule, count] of [
          [{ cron: "@daily" }, 1],
          [{ cron: "0 9 * * *", timezone: "Mars/Olympus" }, 1],
          [{ cron: "0 9 * * *" }, 51],
          [{ cron: "0 9 * * *" }, 0],
        ] as const) {
          refusals.push(yield* refusedAs(preview(workspace, schedule, count)))
        }
        assert.deepStrictEqual(refusals, [
          "invalid_cron schedule.cron",
          "invalid_timezone schedule.timezone",
          "validation_failed count",
          "validation_failed count",
        ])
        const unknown = preview(987654 as WorkspaceId, { cron: "0 9 * * *" })
        assert.strictEqual(yield* refusedAs(unknown), "workspace_not_found")
      }),
    ),
  )
})
