import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { NumberOperations, Workspaces } from "../../src/index.ts"
import type { WorkspaceId } from "../../src/index.ts"
import { copies, events, send, status } from "./Operations.ts"
import { ahead, aKey, aSender, day, hour, inAService, pass, settled } from "./Service.ts"

const setDisabled = (workspace: WorkspaceId, accountDisabled: boolean) =>
  Workspaces.use((all) => all.update("owner", workspace, { accountDisabled }))

describe("a disabled workspace", () => {
  it.effect("sends nothing, not even test messages, until it is enabled", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const test = yield* aKey(workspace, { mode: "test" })
        const scheduled = yield* send(key, { sendAt: yield* ahead(hour), text: "Second" })
        yield* setDisabled(workspace, true)
        // Trusted callers are not refused.
        const live = yield* send(key, { text: "First" })
        const tested = yield* send(test)
        const expiring = yield* send(key, { expiresAt: yield* ahead(hour) })
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
})
