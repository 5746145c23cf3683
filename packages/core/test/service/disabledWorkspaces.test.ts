import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Caller, NumberOperations, Reminders, Workspaces } from "../../src/index.ts"
import type { Mode, ReminderId, WorkspaceId } from "../../src/index.ts"
import { code, copies, events, send, sendBatch, status } from "./Operations.ts"
import { scheduled as aReminder } from "./Reminding.ts"
import { ahead, aKey, aSender, day, hour, inAService, minute, pass, settled } from "./Service.ts"

const setDisabled = (workspace: WorkspaceId, accountDisabled: boolean) =>
  Workspaces.use((all) => all.update("owner", workspace, { accountDisabled }))

/** The program itself, as the workspace is now. */
const trusted = (id: WorkspaceId, mode: Mode = "live") =>
  Effect.map(
    Workspaces.use((all) => all.get(id)),
    (workspace) => Caller.trusted(workspace, { mode }),
  )

describe("a disabled workspace", () => {
  it.effect("sends nothing, not even test messages, until it is enabled", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const test = yield* aKey(workspace, { mode: "test" })
        const sendAt = yield* ahead(minute)
        const scheduled = yield* send(key, { sendAt: yield* ahead(hour), text: "Second" })
        const live = yield* send(key, { sendAt, text: "First" })
        const tested = yield* send(test, { sendAt })
        const expiring = yield* send(key, { sendAt, expiresAt: yield* ahead(hour) })
        yield* setDisabled(workspace, true)
        yield* pass(day)
        for (const [by, message] of [
          [key, live],
          [key, scheduled],
          [test, tested],
        ] as const) {
          assert.strictEqual(yield* status(by, message), "queued")
        }
        assert.strictEqual(yield* status(key, expiring), "expired")
        assert.deepStrictEqual(yield* events(expiring), ["message.expired"])
        const shown = NumberOperations.use((all) => all.connection("owner", workspace, number))
        assert.deepInclude(yield* shown, {
          state: "connected",
          reason: "account_disabled",
          nextSendAt: null,
          waiting: 2,
        })
        assert.lengthOf(yield* copies(), 0)
        for (const caller of [yield* trusted(workspace), yield* trusted(workspace, "test")]) {
          assert.strictEqual(yield* code(send(caller)), "account_disabled")
          assert.strictEqual(yield* code(sendBatch(caller, 2)), "account_disabled")
        }
        yield* setDisabled(workspace, false)
        yield* settled
        assert.strictEqual(yield* status(test, tested), "sent")
        assert.deepStrictEqual(
          (yield* copies()).map(({ text }) => text),
          ["First", "Second"],
        )
        assert.isNull((yield* shown).reason)
      }),
    ),
  )

  it.effect("and a demo workspace refuse new sends and runs of every caller", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const waits = yield* send(key, { sendAt: yield* ahead(hour) })
        yield* Workspaces.use((all) => all.update("owner", workspace, { demo: true }))
        const caller = yield* trusted(workspace)
        assert.strictEqual(yield* code(send(caller)), "demo_account")
        const reminder = yield* aReminder(caller, "0 13 * * *")
        const run = Reminders.use((all) =>
          all.run("owner", workspace, reminder.id as ReminderId, null),
        )
        assert.deepInclude((yield* run).answer, { outcome: "refused", code: "demo_account" })
        yield* pass(day)
        assert.strictEqual(yield* status(key, waits), "sent")
      }),
    ),
  )
})
