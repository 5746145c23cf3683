import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import type { Call } from "./HttpTestClients.ts"
import { layerService, operatorToken, publicUrl } from "./Service.ts"
import { aSender } from "./Records.ts"

const requestId = /^req_[0-9A-Za-z]{24}$/

/** A simple request for each possible status, with its kind of token. */
const everyKind: ReadonlyArray<readonly [Call, number]> = [
  [{ path: "/health/live" }, 200],
  [{ path: "/health/live", method: "POST" }, 405],
  [{ path: "/nothing" }, 404],
  [{ path: "/api/v2/nothing" }, 404],
  [{ path: "/api/v2/me" }, 401],
  [{ path: "/api/v2/me", method: "PATCH" }, 405],
  [{ path: "/admin/v1/workspaces" }, 401],
  [{ path: "/admin/v1/nothing" }, 404],
  [{ path: "/admin/v1/workspaces", token: operatorToken }, 200],
  [{ path: "/admin/v1/workspaces", token: operatorToken, method: "POST", body: "{}" }, 415],
  [{ path: "/admin/v1/workspaces", token: operatorToken, method: "POST", json: {} }, 400],
  [
    {
      path: "/admin/v1/workspaces",
      token: operatorToken,
      method: "POST",
      headers: [["content-type", "application/json"]],
      body: " ".repeat(1_048_577),
    },
    413,
  ],
]

layer(layerService())("every answer", (it) => {
  for (const [call, status] of everyKind) {
    const title = `${call.method ?? "GET"} ${call.path} ${status}`
    it.effect(`${title} carries a request id, is JSON and is not stored`, () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        for (const client of [socket, web]) {
          const answer = yield* client.call(call)
          assert.strictEqual(answer.status, status, answer.text)
          assert.match(answer.headers["x-request-id"]!, requestId)
          assert.strictEqual(answer.headers["cache-control"], "no-store")
          assert.strictEqual(answer.headers["content-type"], "application/json")
          assert.notProperty(answer.headers, "x-client-request-id")
          if (status >= 400) {
            const { code, docs, request_id } = errorBody(answer)
            assert.strictEqual(request_id, answer.headers["x-request-id"])
            assert.strictEqual(docs, `${publicUrl}/docs/errors#${code}`)
          }
        }
      }),
    )
  }

  it.effect("no two answers have the same request id", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const answers = yield* Effect.replicateEffect(socket.call({ path: "/health/live" }), 20)
      assert.strictEqual(new Set(answers.map((each) => each.headers["x-request-id"])).size, 20)
    }),
  )

  for (const [what, text, comesBack] of [
    ["a client's request id", "order-17 / try 2", true],
    ["one of 100 characters", "r".repeat(100), true],
    ["one of 101 characters", "r".repeat(101), false],
    ["an empty one", "", false],
    ["one that is not printable", "a\tb", false],
    ["one that is not ASCII", "é", false],
  ] as const) {
    it.effect(`${what} ${comesBack ? "comes back" : "is ignored"}`, () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        for (const path of ["/health/live", "/nothing"]) {
          const answer = yield* socket.call({ path, headers: [["X-Request-Id", text]] })
          assert.strictEqual(answer.headers["x-client-request-id"], comesBack ? text : undefined)
          assert.match(answer.headers["x-request-id"]!, requestId)
        }
      }),
    )
  }
})

layer(layerService())("the error object", (it) => {
  it.effect("has exactly the contract's fields", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const answer = yield* socket.call({ path: "/api/v2/me" })
      assert.deepStrictEqual(answer.body, {
        error: {
          code: "missing_api_key",
          message: errorBody(answer).message,
          field: null,
          docs: `${publicUrl}/docs/errors#missing_api_key`,
          request_id: answer.headers["x-request-id"],
        },
      })
    }),
  )

  it.effect("reports the first of several problems as the error, the rest in errors", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      const answer = yield* socket.call({
        method: "POST",
        path: "/api/v2/messages",
        token,
        json: { to: { phone: "0155" }, text: " ", send_at: "tomorrow", extra: 1 },
      })
      assert.strictEqual(answer.status, 422)
      const error = errorBody(answer)
      assert.deepInclude(error, { code: "invalid_phone", field: "to.phone" })
      assert.deepStrictEqual(
        error.errors?.map((each) => [Object.keys(each), each.field]),
        [
          [["field", "message"], "text"],
          [["field", "message"], "send_at"],
          [["field", "message"], "extra"],
        ],
      )
    }),
  )

  it.effect("carries the code's details", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender({ key: { scopes: ["media"] } })
      const answer = yield* socket.call({ path: "/api/v2/messages", token })
      assert.strictEqual(answer.status, 403)
      assert.deepInclude(errorBody(answer), {
        code: "missing_scope",
        required_scope: "messages:read",
      })
    }),
  )

  it.effect("only a 401 carries the challenge, the operator's too", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      for (const [call, status] of everyKind) {
        const answer = yield* socket.call(call)
        assert.strictEqual(
          answer.headers["www-authenticate"],
          status === 401 ? 'Bearer realm="service"' : undefined,
        )
      }
    }),
  )
})
