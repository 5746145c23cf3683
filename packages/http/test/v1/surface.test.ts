/** Common rules of version 1: paths, methods, faults (contract: Version 1: requests). */
import { assert, describe, layer } from "@effect/vitest"
import { Admission, StoreUnavailable } from "@messaging-service/core"
import { Effect, Layer, Logger } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aClient, aText, answered, request, call, assertRefusedV1, sends } from "./Asking.ts"
import type { SentBody } from "./Asking.ts"

const operations = [
  "send_msg",
  "send_msg/group",
  "send_msg/multi",
  "schedule_msg",
  "me",
  "cancel_msg",
  "message/status",
  "report",
  "media/upload",
  "media/list",
  "media/delete",
  "reminder/create",
  "reminder/list",
  "reminder/cancel",
  "verification/create",
  "whatsapp/connect",
  "whatsapp/list",
  "whatsapp/status",
]

const questions = ["verification/status", "verification/results"]

layer(layerService())("version 1", (it) => {
  for (const operation of operations) {
    it.effect(
      `${operation} answers 400 to "a method other than POST", with and without a slash`,
      () =>
        Effect.gen(function* () {
          for (const path of [operation, `${operation}/`, `${operation}?client_id=1`]) {
            for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
              assertRefusedV1(yield* call(path, { method }), 400, "Invalid request method")
            }
          }
        }),
    )
  }

  for (const operation of questions) {
    it.effect(`${operation} answers 400 to a method other than GET`, () =>
      Effect.gen(function* () {
        for (const path of [operation, `${operation}/`]) {
          for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
            assertRefusedV1(yield* call(path, { method }), 400, "Invalid request method")
          }
        }
      }),
    )
  }

  it.effect("answers unknown paths with 404 in its own format, whatever the method", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      for (const path of ["", "nothing/", "send_msg/nothing", "send_msg//", "me/me", "message/"]) {
        assertRefusedV1(yield* request(path, credentials), 404, "Not found")
        assertRefusedV1(yield* call(path, { method: "GET" }), 404, "Not found")
      }
      const { socket } = yield* HttpTestClients
      assertRefusedV1(yield* socket.call({ path: "/api/v1" }), 404, "Not found")
      const other = yield* socket.call({ path: "/api/v10/me" })
      assert.isTrue("error" in (other.body as object), other.text)
    }),
  )

  it.effect('takes an "optional trailing slash"', () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      for (const path of ["send_msg", "send_msg/"]) {
        const answer = yield* request(path, { ...credentials, ...aText })
        assert.strictEqual(answered<SentBody>(answer).status, 1)
      }
    }),
  )

  it.effect("answers HEAD as GET, without a body, where GET works", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const id = yield* sends(credentials)
      const query = `client_id=${credentials.client_id}&api_key=${credentials.api_key}`
      const good = yield* call(`message/status/${id}/?${query}`, { method: "HEAD" })
      assert.deepStrictEqual([good.status, good.text], [200, ""])
      const bad = yield* call("message/status/1/", { method: "HEAD" })
      assert.deepStrictEqual([bad.status, bad.text], [400, ""])
      const post = yield* call("me/", { method: "HEAD" })
      assert.deepStrictEqual([post.status, post.text], [400, ""])
    }),
  )

  it.effect("gives every answer a request id and forbids caching", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const answer = yield* call("me/", {
        json: credentials,
        headers: [["x-request-id", "mine"]],
      })
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers["x-request-id"] ?? "", /^req_[0-9A-Za-z]{24}$/)
      assert.strictEqual(answer.headers["x-client-request-id"], "mine")
      assert.strictEqual(answer.headers["cache-control"], "no-store")
      assert.isUndefined(answer.headers["ratelimit-limit"])
    }),
  )
})

/** An admission without its store, or with a bug, by key. */
const brokenAdmission = Layer.effect(
  Admission,
  Effect.map(Admission, (admission) =>
    Admission.of({
      ...admission,
      admitV1: ({ apiKey }) =>
        apiKey === "defect"
          ? Effect.die(new Error("a secret detail"))
          : Effect.fail(new StoreUnavailable({ operation: "admit", cause: "a secret detail" })),
    }),
  ),
)

describe("a fault in version 1", () => {
  const quiet = Logger.layer([])
  layer(layerService({ instead: brokenAdmission }).pipe(Layer.provide(quiet)))(
    "when the store fails",
    (it) => {
      for (const what of ["store", "defect"]) {
        it.effect(`of the ${what} is 500 in its own format, without a detail`, () =>
          Effect.gen(function* () {
            const { socket, web } = yield* HttpTestClients
            for (const client of [socket, web]) {
              assertRefusedV1(
                yield* client.call({
                  method: "POST",
                  path: "/api/v1/me/",
                  json: { client_id: 1, api_key: what },
                }),
                500,
                "Internal error",
              )
            }
          }),
        )
      }
    },
  )
})
