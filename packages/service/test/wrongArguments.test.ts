/** Wrong arguments and options of calls are refused at once, and the field is named. */
import { assert, it } from "vitest"
import { MessagingError } from "../src/index.ts"
import { aShop, failure, opened, phone } from "./Opened.ts"

it("a listener that could never hear anything is refused", async () => {
  const messaging = await opened({ worker: false })
  const on = messaging.on as (...given: ReadonlyArray<unknown>) => unknown
  const handler = () => undefined
  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ...[Number.NaN, 1.5, 1e30, "x", -1, null].map(
      (after) => ["after", ["message.sent", handler, { after }]] as const,
    ),
    ["type", ["message.read", handler]],
    ["type", [[], handler]],
    ["type", [undefined, handler]],
    ["handler", ["message.sent", "log"]],
    ["since", ["message.sent", handler, { since: 1 }]],
  ]
  for (const [field, given] of wrong) {
    try {
      on(...given)
      assert.fail(`${field} was taken`)
    } catch (error) {
      assert.instanceOf(error, MessagingError)
      assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
    }
  }
})

it("an option that a call does not have, or cannot use, is refused and named", async () => {
  const messaging = await opened({ worker: false })
  const { api } = await aShop(messaging)
  const command = { to: { phone }, text: "Hello" }
  const transaction = { query: async () => ({ rows: [] }) }
  const wrong: ReadonlyArray<readonly [string, Promise<unknown>]> = [
    ["idempotency_key", api.messages.send(command, { idempotency_key: "1" } as never)],
    ["options", api.messages.sendBatch({ to: [{ phone }], text: "Hi" }, "order" as never)],
    ["transaction", api.reminders.create({} as never, { transaction } as never)],
    ["atMostMillis", messaging.drain({ atMostMillis: "x" as never })],
    ["atMostMillis", messaging.drain({ atMostMillis: 2 ** 31 })],
    ["numbers", messaging.workspaces.ensure("None", { numbers: "abc" as never })],
  ]
  for (const [field, call] of wrong) {
    const error = await failure(call)
    assert.deepStrictEqual([error.code, error.field], ["validation_failed", field])
    assert.isTrue(error.message.startsWith(`${error.field}: `))
  }
})
