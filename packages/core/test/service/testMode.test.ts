import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Messages } from "../../src/index.ts"
import {
  allEvents,
  arrived,
  cancel,
  code,
  events,
  get,
  logOut,
  remaining,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import {
  aContact,
  ahead,
  aKey,
  aSender,
  hour,
  inAService,
  minute,
  pass,
  settled,
  startWorker,
} from "./Service.ts"

describe("test mode", () => {
  const aTestSender = (allowance: number | null = 5) =>
    Effect.gen(function* () {
      const sender = yield* aSender(allowance)
      return { ...sender, test: yield* aKey(sender.workspace, { mode: "test" }) }
    })

  it.effect("a message is answered as queued and sent at once, reaching no transport", () =>
    inAService(
      Effect.gen(function* () {
        const { test, workspace } = yield* aTestSender()
        const message = yield* send(test)
        assert.strictEqual(message.status, "queued")
        yield* settled
        const sent = yield* get(test, message)
        assert.deepStrictEqual([sent.status, sent.sent_at], ["sent", "2026-03-02T12:00:00Z"])
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
        assert.deepStrictEqual(
          (yield* allEvents).map(({ mode }) => mode),
          ["test"],
        )
        assert.strictEqual(yield* remaining(workspace), 5)
      }),
    ),
  )

  it.effect("a scheduled one becomes sent when due", () =>
    inAService(
      Effect.gen(function* () {
        const { test } = yield* aTestSender()
        const message = yield* send(test, { sendAt: yield* ahead(hour) })
        yield* pass(hour - 1)
        assert.strictEqual(yield* status(test, message), "scheduled")
        yield* pass(1)
        assert.strictEqual(yield* status(test, message), "sent")
      }),
    ),
  )

  it.effect("a logged-out number sends too", () =>
    inAService(
      Effect.gen(function* () {
        const { number, test } = yield* aTestSender()
        yield* logOut(number)
        const message = yield* send(test, { from: number })
        yield* settled
        assert.strictEqual(yield* status(test, message), "sent")
      }),
    ),
  )

  it.effect("two phones fail: recipient_not_found and send_failed, a contact's too", () =>
    inAService(
      Effect.gen(function* () {
        const { test, workspace } = yield* aTestSender()
        const contact = yield* aContact(workspace, { phone: "+15005550009" })
        const messages = [
          yield* send(test, { to: { phone: "+15005550001" } }),
          yield* send(test, { to: { phone: "+1 500 555-0009" } }),
          yield* send(test, { to: { contactId: contact } }),
          // In test mode even unregistered phones count as registered.
          yield* send(test, { to: { phone: "+15550010000" } }),
          yield* send(test, { to: { group: "Strangers" } }),
        ]
        yield* settled
        const received = yield* Effect.forEach(messages, (message) =>
          Effect.map(get(test, message), (read) => read.error?.code ?? read.status),
        )
        assert.deepStrictEqual(received, [
          "recipient_not_found",
          "send_failed",
          "send_failed",
          "sent",
          "sent",
        ])
        assert.deepStrictEqual(yield* events(messages[0]!), ["message.failed"])
      }),
    ),
  )

  it.effect("takes neither allowance nor quota, and refunds none", () =>
    inAService(
      Effect.gen(function* () {
        const { key, test, workspace } = yield* aTestSender(1000)
        yield* sendBatch(test, 1000)
        yield* sendBatch(test, 1000)
        const cancelled = yield* send(test, { sendAt: yield* ahead(hour) })
        yield* cancel(test, cancelled)
        yield* send(test, { sendAt: yield* ahead(2), expiresAt: yield* ahead(1 + hour) })
        yield* settled
        assert.strictEqual(yield* remaining(workspace), 1000)
        yield* sendBatch(key, 1000)
        assert.strictEqual(yield* remaining(workspace), 0)
        assert.strictEqual(yield* code(send(test)), "no_credits")
      }),
    ),
  )

  it.effect("is refused for quota that live messages used up", () =>
    inAService(
      Effect.gen(function* () {
        const { key, test } = yield* aTestSender(null)
        yield* sendBatch(key, 1000)
        assert.strictEqual(yield* code(send(test)), "number_daily_cap_reached")
      }),
    ),
  )

  it.effect("test and live see only messages of their own mode", () =>
    inAService(
      Effect.gen(function* () {
        const { key, test } = yield* aTestSender()
        const live = yield* send(key)
        const tried = yield* send(test)
        yield* settled
        const messages = yield* Messages
        const listed = (caller: typeof key) =>
          Effect.map(messages.list(caller, {}), ({ items }) => items.map(({ id }) => id))
        assert.deepStrictEqual<unknown>(yield* listed(key), [live.id])
        assert.deepStrictEqual<unknown>(yield* listed(test), [tried.id])
        assert.strictEqual(yield* code(get(key, tried)), "message_not_found")
        assert.strictEqual(yield* code(get(test, live)), "message_not_found")
        assert.strictEqual(yield* code(cancel(key, tried)), "message_not_found")
      }),
    ),
  )

  it.effect("expiry wins when both are due, after the worker paused", () =>
    inAService(
      Effect.gen(function* () {
        const { test } = yield* aTestSender()
        const expired = yield* send(test, { expiresAt: yield* ahead(minute) })
        const sent = yield* send(test, { expiresAt: yield* ahead(minute + 1) })
        yield* TestClock.adjust(minute)
        yield* startWorker
        assert.deepStrictEqual(yield* statuses(test, [expired, sent]), ["expired", "sent"])
        assert.deepStrictEqual(yield* events(expired), ["message.expired"])
      }),
      { worker: false },
    ),
  )
})
