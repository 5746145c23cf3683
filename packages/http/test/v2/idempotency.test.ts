import { assert, describe, layer } from "@effect/vitest"
import { Egress } from "@messaging-service/core"
import { Effect, Fiber, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Doors, errorOf } from "../Doors.ts"
import type { Call } from "../Doors.ts"
import { layerService } from "../Service.ts"
import { aKey, aSender, aText, bodyOf } from "../Records.ts"
import type { MessageBody } from "../Records.ts"
import { idsOf, list, path } from "./Asking.ts"

const keyed = (key: string) => [["idempotency-key", key]] as const

const send = (token: string, key: string, call: Partial<Call> = {}) =>
  Effect.flatMap(Doors, ({ socket }) =>
    socket.call({ method: "POST", path, token, headers: keyed(key), json: aText, ...call }),
  )

const accepted = (token: string) => Effect.map(list(token), idsOf)

layer(layerService())("an Idempotency-Key", (it) => {
  it.effect("a repeat returns the first answer and does nothing twice", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const first = yield* send(token, "order 17")
      assert.strictEqual(first.status, 202)
      assert.notProperty(first.headers, "idempotent-replayed")
      yield* TestClock.adjust("1 hour")
      const repeat = yield* send(token, "order 17")
      assert.strictEqual(repeat.status, 202)
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true")
      assert.strictEqual(repeat.text, first.text)
      assert.lengthOf(yield* accepted(token), 1)
    }),
  )

  it.effect("the same request in another spelling is the same request", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const first = bodyOf<MessageBody>(yield* send(token, "k"), 202)
      const { socket } = yield* Doors
      const repeat = yield* socket.call({
        method: "POST",
        path: `${path}/?`,
        token,
        headers: [...keyed("k"), ["content-type", "APPLICATION/json; charset=UTF-8"]],
        body: '\uFEFF { "text" : "Hell\\u006f", "to":{"phone" : "+15550001234"} } ',
      })
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true", repeat.text)
      assert.strictEqual(bodyOf<MessageBody>(repeat, 202).id, first.id)
    }),
  )

  it.effect("another body or path with the same key is idempotency_key_reused", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      yield* send(token, "k")
      const otherBody = yield* send(token, "k", { json: { ...aText, text: "Goodbye" } })
      assert.strictEqual(otherBody.status, 422)
      assert.strictEqual(errorOf(otherBody).code, "idempotency_key_reused")
      const otherPath = yield* send(token, "k", {
        path: `${path}/batch`,
        json: { to: [aText.to], text: aText.text },
      })
      assert.strictEqual(errorOf(otherPath).code, "idempotency_key_reused")
      assert.lengthOf(yield* accepted(token), 1)
    }),
  )

  it.effect("belongs to the API key", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const other = yield* aKey(workspace)
      yield* send(token, "k")
      const answer = yield* send(other.key, "k")
      assert.strictEqual(answer.status, 202)
      assert.notProperty(answer.headers, "idempotent-replayed")
      assert.lengthOf(yield* accepted(token), 2)
    }),
  )

  it.effect("is kept 24 hours from the first request", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      yield* send(token, "k")
      yield* TestClock.adjust("86399 seconds")
      assert.property((yield* send(token, "k")).headers, "idempotent-replayed")
      yield* TestClock.adjust("1 second")
      assert.notProperty((yield* send(token, "k")).headers, "idempotent-replayed")
      assert.lengthOf(yield* accepted(token), 2)
    }),
  )

  it.effect("errors are not stored: a corrected request may reuse the key", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const refused = yield* send(token, "k", { json: { ...aText, from: 999_999 } })
      assert.strictEqual(errorOf(refused).code, "number_not_found")
      const corrected = yield* send(token, "k")
      assert.strictEqual(corrected.status, 202)
      assert.notProperty(corrected.headers, "idempotent-replayed")
    }),
  )

  it.effect("a batch is replayed whole and in order", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const batch = {
        path: `${path}/batch`,
        json: { to: [{ phone: "+15550000001" }, { group: "Team" }, aText.to], text: "Hi" },
      }
      const first = yield* send(token, "k", batch)
      const repeat = yield* send(token, "k", batch)
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true")
      assert.strictEqual(repeat.text, first.text)
    }),
  )

  it.effect("lets one of many concurrent requests act; the others repeat it or have to wait", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => send(token, "k")),
        { concurrency: "unbounded" },
      )
      const acted = answers.filter(
        ({ status, headers }) => status === 202 && headers["idempotent-replayed"] === undefined,
      )
      assert.lengthOf(acted, 1)
      for (const answer of answers) {
        if (answer.status === 202) {
          assert.strictEqual(answer.text, acted[0]!.text)
        } else {
          assert.strictEqual(answer.status, 409)
          assert.strictEqual(errorOf(answer).code, "idempotency_in_progress")
          assert.strictEqual(answer.headers["retry-after"], "1")
        }
      }
      assert.lengthOf(yield* accepted(token), 1)
    }),
  )

  for (const [what, key] of [
    ["empty", ""],
    ["256 characters", "k".repeat(256)],
    ["not ASCII", "clé"],
    ["not printable", "a\tb"],
  ] as const) {
    it.effect(`${what} is invalid_idempotency_key`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const answer = yield* send(token, key)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(errorOf(answer).code, "invalid_idempotency_key")
      }),
    )
  }

  it.effect("may have 255 printable characters, commas and spaces among them", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      for (const key of ["k".repeat(255), "a, b", "~ !"]) {
        assert.strictEqual((yield* send(token, key)).status, 202)
      }
    }),
  )

  it.effect("sent twice in one request is invalid_idempotency_key, even with the same value", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      for (const second of ["b", "a", ""]) {
        const answer = yield* send(token, "a", { headers: [...keyed("a"), ...keyed(second)] })
        assert.strictEqual(errorOf(answer).code, "invalid_idempotency_key")
      }
    }),
  )

  it.effect("is ignored by other requests", () =>
    Effect.gen(function* () {
      const { socket } = yield* Doors
      const { token } = yield* aSender()
      const answer = yield* socket.call({ path, token, headers: keyed("") })
      assert.strictEqual(answer.status, 200)
    }),
  )
})

describe("an Idempotency-Key whose first request is in flight", () => {
  /** The DNS lookup of a media link, which delays a request until the gate opens. */
  const gate = Latch.makeUnsafe()
  const arrived = Latch.makeUnsafe()
  const slowEgress = Layer.effect(
    Egress,
    Effect.map(Egress, (egress) =>
      Egress.of({
        ...egress,
        allows: () => Effect.andThen(arrived.open, Effect.as(gate.await, true)),
      }),
    ),
  ).pipe(Layer.provide(Egress.layerClosed))

  layer(layerService({ egress: slowEgress }))("with a slow way out", (it) => {
    it.effect("is idempotency_in_progress, and afterwards the first answer", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const held = { json: { ...aText, media: { url: "https://example.com/a.png" } } }
        const first = yield* Effect.forkChild(send(token, "k", held))
        yield* arrived.await
        const meanwhile = yield* send(token, "k", held)
        assert.strictEqual(meanwhile.status, 409)
        assert.strictEqual(errorOf(meanwhile).code, "idempotency_in_progress")
        assert.strictEqual(meanwhile.headers["retry-after"], "1")

        yield* gate.open
        const answer = yield* Fiber.join(first)
        assert.strictEqual(answer.status, 202)
        const repeat = yield* send(token, "k", held)
        assert.strictEqual(repeat.headers["idempotent-replayed"], "true")
        assert.strictEqual(repeat.text, answer.text)
      }),
    )
  })
})
