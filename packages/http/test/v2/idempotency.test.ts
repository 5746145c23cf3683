import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSender, aText, expectBody } from "../Records.ts"
import type { MessageBody } from "../Records.ts"
import { toIds, list, path } from "./Asking.ts"

const keyed = (key: string) => [["idempotency-key", key]] as const

const send = (token: string, key: string, call: Partial<Call> = {}) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "POST", path, token, headers: keyed(key), json: aText, ...call }),
  )

const accepted = (token: string) => Effect.map(list(token), toIds)

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
      const first = expectBody<MessageBody>(yield* send(token, "k"), 202)
      const { socket } = yield* HttpTestClients
      const repeat = yield* socket.call({
        method: "POST",
        path: `${path}/?`,
        token,
        headers: [...keyed("k"), ["content-type", "APPLICATION/json; charset=UTF-8"]],
        body: '\uFEFF { "text" : "Hell\\u006f", "to":{"phone" : "+15550001234"} } ',
      })
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true", repeat.text)
      assert.strictEqual(expectBody<MessageBody>(repeat, 202).id, first.id)
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
          assert.strictEqual(errorBody(answer).code, "idempotency_in_progress")
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
        assert.strictEqual(errorBody(answer).code, "invalid_idempotency_key")
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
        assert.strictEqual(errorBody(answer).code, "invalid_idempotency_key")
      }
    }),
  )

  it.effect("is ignored by other requests", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      const answer = yield* socket.call({ path, token, headers: keyed("") })
      assert.strictEqual(answer.status, 200)
    }),
  )
})
