/** The limits of version 1: requests of a workspace, wrong keys of an address, keys of one version. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Answer } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKeyV1, aKey } from "../Records.ts"
import { aClient, request, call, assertRefusedV1 } from "./Asking.ts"

const wrong = { client_id: 1, api_key: "0".repeat(40) }

/** From a separate address, so that wrong keys of other tests do not count. */
const from = (address: string, json: unknown) =>
  call("me/", { json, headers: [["x-forwarded-for", address]] })

const statuses = (answers: ReadonlyArray<Answer>) => answers.map(({ status }) => status)

layer(layerService({ settings: { trustProxy: true } }))("the limits of version 1", (it) => {
  it.effect("are 60 requests in a clock minute for each workspace, whatever its keys", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000 * 60_000 + 15_000)
      const { credentials, workspace } = yield* aClient()
      const another = yield* aKeyV1(workspace)
      const stranger = yield* aClient()
      const keys = [credentials.api_key, another.key]
      const answers = yield* Effect.forEach(
        Array.from({ length: 60 }, (_, index) => index),
        (index) => request("me/", { ...credentials, api_key: keys[index % 2] }),
      )
      assert.deepStrictEqual(statuses(answers), Array(60).fill(200))

      const over = yield* request("me/", credentials)
      assertRefusedV1(over, 429, "Too many requests")
      assert.strictEqual(over.headers["retry-after"], "45")
      const alsoOver = yield* request("send_msg/", { ...credentials, api_key: another.key })
      assertRefusedV1(alsoOver, 429, "Too many requests")
      assert.strictEqual((yield* request("me/", stranger.credentials)).status, 200)

      yield* TestClock.adjust("44 seconds")
      assertRefusedV1(yield* request("me/", credentials), 429, "Too many requests")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* request("me/", credentials)).status, 200)
    }),
  )

  it.effect("count requests that fail later, but no failed credentials", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 minute")
      const { credentials } = yield* aClient()
      for (let times = 0; times < 20; times++) {
        assertRefusedV1(
          yield* request("me/", { ...credentials, client_id: "x" }),
          400,
          "Invalid Client Id",
        )
        assertRefusedV1(
          yield* from("192.0.2.60", { ...credentials, api_key: wrong.api_key }),
          400,
          "Auth Error: invalid api key",
        )
      }
      for (let times = 0; times < 59; times++) {
        assertRefusedV1(yield* request("cancel_msg/", credentials), 400, "Invalid message id")
      }
      assert.strictEqual((yield* request("me/", credentials)).status, 200)
      assertRefusedV1(yield* request("cancel_msg/", credentials), 429, "Too many requests")
    }),
  )

  it.effect("give the same answer after 30 wrong keys in a minute from one address", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 minute")
      const { credentials } = yield* aClient()
      for (let times = 0; times < 30; times++) {
        assertRefusedV1(yield* from("192.0.2.61", wrong), 400, "Auth Error: invalid api key")
      }
      const guarded = yield* from("192.0.2.61", wrong)
      assertRefusedV1(guarded, 429, "Too many requests")
      assert.strictEqual(guarded.headers["retry-after"], "60")

      // While wrong keys of this address are refused, a valid key from it works.
      assert.strictEqual((yield* from("192.0.2.61", credentials)).status, 200)
      assertRefusedV1(yield* from("192.0.2.62", wrong), 400, "Auth Error: invalid api key")
      yield* TestClock.adjust("1 minute")
      assertRefusedV1(yield* from("192.0.2.61", wrong), 400, "Auth Error: invalid api key")
    }),
  )

  it.effect("keep keys of one version off the other", () =>
    Effect.gen(function* () {
      const { credentials, workspace } = yield* aClient()
      const { socket } = yield* HttpTestClients
      for (const mode of ["live", "test"]) {
        const { key } = yield* aKey(workspace, { mode })
        assertRefusedV1(
          yield* request("me/", { ...credentials, api_key: key }),
          400,
          "Auth Error: invalid api key",
        )
        const answer = yield* call("me/", {
          token: key,
          json: { client_id: credentials.client_id },
        })
        assertRefusedV1(answer, 400, "Auth Error: invalid api key")
      }
      const onV2 = yield* socket.call({ path: "/api/v2/me", token: credentials.api_key })
      assert.strictEqual(onV2.status, 401)
      assert.strictEqual(errorBody(onV2).code, "v1_key_on_v2")
    }),
  )

  it.effect("a bearer token replaces `api_key`, and the body wins over it", () =>
    Effect.gen(function* () {
      const { client_id, api_key } = (yield* aClient()).credentials
      const bearer = yield* call("me/", { token: api_key, json: { client_id } })
      assert.strictEqual(bearer.status, 200, bearer.text)
      const both = yield* call("me/", { token: "wrong", json: { client_id, api_key } })
      assert.strictEqual(both.status, 200, both.text)
      const wrongBody = yield* call("me/", {
        token: api_key,
        json: { client_id, api_key: wrong.api_key },
      })
      assertRefusedV1(wrongBody, 400, "Auth Error: invalid api key")
      // `client_id` is still required.
      assertRefusedV1(
        yield* call("send_msg/", { token: api_key, json: {} }),
        400,
        "Invalid client id.",
      )
    }),
  )
})
