import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Workspaces } from "../../src/index.ts"
import {
  allEvents,
  cancel,
  code,
  logOut,
  refusal,
  remaining,
  send,
  sendBatch,
  status,
} from "./Operations.ts"
import { ahead, aSender, day, inAService, minute, pass, settled } from "./Service.ts"

describe("the plan's allowance", () => {
  it.effect("is taken at acceptance, also for scheduled messages, until no_credits", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(3)
        yield* send(key)
        yield* send(key, { sendAt: yield* ahead(day) })
        assert.strictEqual(yield* remaining(workspace), 1)
        assert.strictEqual(yield* code(sendBatch(key, 2)), "no_credits")
        assert.strictEqual(yield* remaining(workspace), 1)
        yield* send(key)
        const refused = yield* refusal(send(key))
        assert.deepStrictEqual([refused.code, refused.status], ["no_credits", 402])
        assert.strictEqual(yield* remaining(workspace), 0)
      }),
    ),
  )

  it.effect("cancelled and expired refund it, failed does not", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender(10)
        const failing = yield* send(key, { to: { phone: "+15550010000" } })
        yield* settled
        yield* logOut(number)
        yield* send(key, { from: number, expiresAt: yield* ahead(minute) })
        const cancelled = yield* send(key, { from: number })
        assert.strictEqual(yield* remaining(workspace), 7)
        yield* pass(minute)
        yield* cancel(key, cancelled)
        assert.strictEqual(yield* remaining(workspace), 9)
        assert.strictEqual(yield* status(key, failing), "failed")
      }),
    ),
  )

  it.effect("what an unlimited plan accepted does not refund to a limited one", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender(null)
        yield* logOut(number)
        const message = yield* send(key, { from: number })
        yield* Workspaces.use((workspaces) =>
          workspaces.update("owner", workspace, {
            plan: {
              name: "Small",
              messagesRemaining: 5,
              reminders: false,
              qrCodeApi: false,
              maxNumbers: 1,
              mediaStorageBytes: 0,
            },
          }),
        )
        yield* cancel(key, message)
        assert.strictEqual(yield* remaining(workspace), 5)
      }),
    ),
  )

  it.effect("two concurrent requests cannot both take the last message", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(1)
        const results = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.result(send(key)),
          { concurrency: "unbounded" },
        )
        assert.lengthOf(
          results.filter(({ _tag }) => _tag === "Success"),
          1,
        )
        assert.strictEqual(yield* remaining(workspace), 0)
      }),
    ),
  )
})

describe("a batch is all or nothing", () => {
  it.effect("one bad recipient queues nothing", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(10)
        const to = [{ phone: "+15550000001" }, { phone: "+15550000002" }, { contactId: 999_999 }]
        const refused = yield* refusal(sendBatch(key, 0, { to }))
        assert.deepStrictEqual(
          [refused.code, refused.field],
          ["contact_not_found", "to[2].contactId"],
        )
        yield* pass(day)
        assert.deepStrictEqual(yield* allEvents, [])
        assert.strictEqual(yield* remaining(workspace), 10)
      }),
    ),
  )
})
