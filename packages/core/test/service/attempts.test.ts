import { assert, describe, it } from "@effect/vitest"
import { Emulator } from "@messaging-service/emulator"
import { Effect } from "effect"
import {
  arrived,
  behave,
  copies,
  events,
  get,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

describe("a refusal by the remote server", () => {
  it.effect("fails the message with the phone's reason", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "fail", errorMessage: "The battery is empty." })
        const message = yield* send(key)
        yield* settled
        const failed = yield* get(key, message)
        assert.deepStrictEqual(
          [failed.status, failed.sent_at, failed.error],
          ["failed", null, { code: "send_failed", message: "The battery is empty." }],
        )
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
        assert.deepStrictEqual(yield* arrived(), [])
      }),
    ),
  )

  it.effect("is recipient_not_found for a phone that is not registered", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const unregistered = yield* send(key, { to: { phone: "+15550010000" } })
        const registered = yield* send(key, { to: { phone: "+15550010001" } })
        yield* settled
        assert.deepStrictEqual(yield* statuses(key, [unregistered, registered]), ["failed", "sent"])
        assert.strictEqual((yield* get(key, unregistered)).error?.code, "recipient_not_found")
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: ["+15550010000"] }))
        const again = yield* send(key, { to: { phone: "+15550010000" } })
        yield* settled
        assert.strictEqual(yield* status(key, again), "sent")
      }),
    ),
  )

  it.effect("is group_not_found when no group matches exactly at send time", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { groups: ["Team", "Twice", "Twice"] })
        const known = yield* send(key, { to: { group: "Team" } })
        const others = yield* Effect.forEach(["team", " Team", "Strangers", "Twice"], (group) =>
          send(key, { to: { group } }),
        )
        yield* settled
        assert.strictEqual(yield* status(key, known), "sent")
        for (const message of others) {
          const failed = yield* get(key, message)
          assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "group_not_found"])
        }
        assert.deepStrictEqual<unknown>(yield* arrived(), [known.id])
      }),
    ),
  )

  it.effect("does not block the messages behind it", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* send(key, { to: { phone: "+15550010000" } })
        const behind = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, behind), "sent")
      }),
    ),
  )

  it.effect("is media_unavailable for missing media", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { media: { url: "https://example.com/a.png" } })
        yield* settled
        const failed = yield* get(key, message)
        assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "media_unavailable"])
      }),
    ),
  )
})

describe("a transport without an answer", () => {
  it.effect("three times for 60 s ends in outcome_unknown without another send", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key)
        yield* pass(3 * minute - 1)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* pass(1)
        const failed = yield* get(key, message)
        assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "outcome_unknown"])
        yield* behave(number, {})
        yield* pass(day)
        assert.isAtMost((yield* copies()).length, 1)
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
      }),
    ),
  )

  it.effect("gets the same message again and delivers it once", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key)
        yield* pass(90 * second)
        yield* behave(number, {})
        yield* pass(minute)
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("blocks what is behind it, and no other number", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        yield* behave(number, { send: "hang" })
        const behind = yield* sendBatch(key, 2, { from: number })
        const elsewhere = yield* send(key, { from: other })
        yield* pass(2 * minute)
        assert.deepStrictEqual(yield* statuses(key, [...behind, elsewhere]), [
          "queued",
          "queued",
          "sent",
        ])
        yield* pass(hour)
        assert.deepStrictEqual(yield* statuses(key, behind), ["failed", "failed"])
      }),
    ),
  )

  it.effect("keeps its lane for longer than a lease", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 59 * second })
        const messages = yield* sendBatch(key, 3)
        yield* pass(10 * minute)
        assert.deepStrictEqual(
          (yield* copies()).map(({ at }) => at - noon),
          [59, 118, 177].map((seconds) => seconds * second),
        )
        assert.deepStrictEqual(yield* statuses(key, messages), ["sent", "sent", "sent"])
      }),
    ),
  )
})

describe("a connection that breaks before the ack", () => {
  it.effect("causes a repeat with the same id, and the recipient sees one copy", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "drop" })
        const message = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("ends in outcome_unknown without a repeat when the message expires meanwhile", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key, { expiresAt: yield* ahead(30 * second) })
        yield* pass(30 * second)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* behave(number, {})
        yield* pass(hour)
        const failed = yield* get(key, message)
        assert.deepStrictEqual([failed.status, failed.error?.code], ["failed", "outcome_unknown"])
        assert.deepStrictEqual(yield* arrived(), [])
        assert.deepStrictEqual(yield* events(message), ["message.failed"])
      }),
    ),
  )
})
