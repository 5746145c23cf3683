import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Answer } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aSender, aText, aWorkspace, revoke } from "../Records.ts"

const me = "/api/v2/me"

const me60 = (token: string) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    Effect.replicateEffect(socket.call({ path: me, token }), 60),
  )

const rateHeaders = ({ headers }: Answer) => ({
  limit: headers["ratelimit-limit"],
  remaining: headers["ratelimit-remaining"],
  reset: headers["ratelimit-reset"],
  policy: headers["ratelimit-policy"],
})

const policy = "60;w=60, 10000;w=86400"

/** Sets the clock into the middle of a clock minute that no earlier test has seen. */
const laterThisDay = (seconds: number) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("10 minutes")
    yield* TestClock.adjust(`${seconds} seconds`)
  })

layer(layerService())("the rate limit of a key", (it) => {
  it.effect("admits 60 requests in a clock minute, and refuses the 61st as rate_limited", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      yield* TestClock.setTime(Date.UTC(2026, 2, 2, 12, 0, 30, 250))
      const answers = yield* me60(token)
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        answers.map(() => 200),
      )
      assert.deepStrictEqual(rateHeaders(answers[0]!), {
        limit: "60",
        remaining: "59",
        reset: "30",
        policy,
      })
      assert.deepStrictEqual(rateHeaders(answers[59]!), {
        limit: "60",
        remaining: "0",
        reset: "30",
        policy,
      })
      assert.notProperty(answers[59]!.headers, "retry-after")

      const over = yield* socket.call({ path: me, token })
      assert.strictEqual(over.status, 429)
      assert.strictEqual(errorBody(over).code, "rate_limited")
      assert.deepStrictEqual(rateHeaders(over), {
        limit: "60",
        remaining: "0",
        reset: "30",
        policy,
      })
      assert.strictEqual(over.headers["retry-after"], "30")

      yield* TestClock.setTime(Date.UTC(2026, 2, 2, 12, 0, 59, 999))
      const still = yield* socket.call({ path: me, token })
      assert.strictEqual(still.status, 429)
      assert.strictEqual(still.headers["retry-after"], "1")

      yield* TestClock.setTime(Date.UTC(2026, 2, 2, 12, 1))
      const next = yield* socket.call({ path: me, token })
      assert.strictEqual(next.status, 200)
      assert.deepStrictEqual(rateHeaders(next), {
        limit: "60",
        remaining: "59",
        reset: "60",
        policy,
      })
    }),
  )

  it.effect("counts unknown paths, wrong methods and refused requests too", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender({ key: { scopes: ["messages:send"] } })
      yield* laterThisDay(0)
      const remaining: Array<readonly [number, string | undefined]> = []
      for (const call of [
        { path: "/api/v2/nothing" },
        { path: me, method: "DELETE" },
        { path: "/api/v2/messages" },
        { path: "/api/v2/messages", method: "POST", body: "{" },
        { path: "/api/v2/messages", method: "POST", json: {} },
        { path: me, method: "HEAD" },
        { path: "/api/v2" },
      ]) {
        const answer = yield* socket.call({ ...call, token })
        remaining.push([answer.status, answer.headers["ratelimit-remaining"]])
      }
      assert.deepStrictEqual(remaining, [
        [404, "59"],
        [405, "58"],
        [403, "57"],
        [415, "56"],
        [400, "55"],
        [200, "54"],
        [404, "53"],
      ])
    }),
  )

  it.effect("does not change the answer to an unknown path or a wrong method", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      yield* laterThisDay(10)
      yield* me60(token)
      const unknown = yield* socket.call({ path: "/api/v2/nothing", token })
      assert.strictEqual(unknown.status, 404)
      assert.deepStrictEqual(rateHeaders(unknown), {
        limit: "60",
        remaining: "0",
        reset: "50",
        policy,
      })
      const wrong = yield* socket.call({ path: me, method: "POST", token })
      assert.strictEqual(wrong.status, 405)
      assert.strictEqual(wrong.headers["ratelimit-remaining"], "0")
    }),
  )

  it.effect(
    "ignores refused keys and workspaces and other parts of the interface: no RateLimit headers",
    () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        const demo = yield* aKey(yield* aWorkspace({ demo: true }))
        const { token } = yield* aSender()
        for (const call of [
          { path: me },
          { path: me, token: "nonsense" },
          { path: me, token: demo.key },
          { path: "/api/v2/nothing" },
          { path: "/api/v2/nothing", token: "nonsense" },
          { path: "/api/v2/nothing", token: demo.key },
          // Version 2 is everything under its prefix, and nothing next to it.
          { path: "/api/v2x/me", token },
          { path: "/health/live", token },
        ]) {
          const answer = yield* socket.call(call)
          const carried = Object.keys(answer.headers).filter((name) => name.startsWith("ratelimit"))
          assert.deepStrictEqual(carried, [])
        }
      }),
  )
})

describe("the guard against wrong keys", () => {
  const wrong = `svc_live_${"z".repeat(38)}`

  layer(layerService({ settings: { trustProxy: true } }))("behind a proxy", (it) => {
    const from = (address: string) => [["x-forwarded-for", address]] as const

    it.effect("answers 30 wrong keys a minute from one address, and refuses the 31st", () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        yield* laterThisDay(59)
        const { token, workspace } = yield* aSender()
        const revoked = yield* aKey(workspace)
        yield* revoke(workspace, revoked)
        const call = (key?: string, address = "203.0.113.7", path = me) =>
          socket.call({
            path,
            headers: from(address),
            ...(key === undefined ? {} : { token: key }),
          })

        for (let request = 1; request <= 30; request++) {
          const key = [wrong, "nonsense", "a".repeat(40)][request % 3]!
          assert.strictEqual((yield* call(key)).status, 401)
        }
        const over = yield* call(wrong)
        assert.strictEqual(over.status, 429)
        assert.strictEqual(errorBody(over).code, "too_many_auth_failures")
        assert.strictEqual(over.headers["retry-after"], "60")
        assert.notProperty(over.headers, "ratelimit-limit")

        // Meanwhile requests without a wrong key continue as usual.
        assert.strictEqual((yield* call(token)).status, 200)
        assert.strictEqual(errorBody(yield* call()).code, "missing_api_key")
        assert.strictEqual(errorBody(yield* call(revoked.key)).code, "api_key_revoked")
        assert.strictEqual((yield* call(wrong, "203.0.113.7", "/api/v2/nothing")).status, 404)
        assert.strictEqual((yield* call(wrong, "203.0.113.8")).status, 401)
        const operator = yield* socket.call({
          path: "/admin/v1/workspaces",
          token: "nonsense",
          headers: from("203.0.113.7"),
        })
        assert.strictEqual(errorBody(operator).code, "invalid_operator_token")

        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* call(wrong)).status, 401)
      }),
    )
  })
})

layer(layerService())("the daily cap of a number", (it) => {
  it.effect("Retry-After is the seconds until the number has room", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      yield* TestClock.setTime(Date.UTC(2026, 2, 2, 12))
      const { to, text } = aText
      const full = yield* socket.call({
        method: "POST",
        path: "/api/v2/messages/batch",
        token,
        json: { to: Array.from({ length: 1000 }, () => to), text },
      })
      assert.strictEqual(full.status, 202)
      yield* TestClock.adjust("1 hour")
      const over = yield* socket.call({
        method: "POST",
        path: "/api/v2/messages",
        token,
        json: aText,
      })
      assert.strictEqual(over.status, 429)
      assert.strictEqual(errorBody(over).code, "number_daily_cap_reached")
      assert.strictEqual(over.headers["retry-after"], String(23 * 3600))
      assert.strictEqual(over.headers["ratelimit-remaining"], "59")
    }),
  )
})
