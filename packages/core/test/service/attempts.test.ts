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

describe("what the remote server refuses", () => {
  it.effect("fails with the reason that the phone gives", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "fail", error_message: "The battery is empty." })
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

  it.effect("a phone that is not registered is recipient_not_found", () =>
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

  it.effect("a group is matched exactly when the message is sent; none is group_not_found", () =>
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

  it.effect("a failed message does not hold up those behind it", () =>
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

  it.effect("media that cannot be had is media_unavailable", () =>
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

describe("a transport that does not answer", () => {
  it.effect("for 60 s three times ends in outcome_unknown, and the message is not sent again", () =>
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

  it.effect("and then answers, gets the same message once", () =>
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

  it.effect("holds what is behind it, and no other number", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        yield* behave(number, { send: "hang" })
        const behind = yield* sendBatch(key, 2, { from: number })
        const beside = yield* send(key, { from: other })
        yield* pass(2 * minute)
        assert.deepStrictEqual(yield* statuses(key, [...behind, beside]), [
          "queued",
          "queued",
          "sent",
        ])
        yield* pass(hour)
        assert.deepStrictEqual(yield* statuses(key, behind), ["failed", "failed"])
      }),
    ),
  )

  it.effect("keeps its lane while it takes longer than a lease", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latency_ms: 59 * second })
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
  it.effect("is repeated with the same id, and the recipient sees one copy", () =>
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

  it.effect("and a message that expires meanwhile end in outcome_unknown, not sent again", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const message = yield* send(key, { expires_at: yield* ahead(30 * second) })
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
