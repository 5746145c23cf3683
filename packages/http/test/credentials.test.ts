import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"
import { aKey, aSender, aWorkspace, expectBody, operate } from "./Records.ts"
import type { PageBody } from "./Records.ts"

describe("credentials", () => {
  layer(layerService())("over real sockets", (it) => {
    const request = (headers: ReadonlyArray<readonly [string, string]>) =>
      Effect.flatMap(HttpTestClients, ({ socket }) => socket.call({ path: "/api/v2/me", headers }))

    it.effect("accept a bearer header in any case of its scheme", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        for (const scheme of ["Bearer", "bearer", "BEARER"]) {
          assert.strictEqual(
            (yield* request([["Authorization", `${scheme} ${token}`]])).status,
            200,
          )
        }
      }),
    )

    for (const value of ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "svc_live_x"]) {
      it.effect(`${JSON.stringify(value)} is missing_api_key`, () =>
        Effect.gen(function* () {
          const answer = yield* request([["authorization", value]])
          assert.strictEqual(answer.status, 401)
          assert.strictEqual(errorBody(answer).code, "missing_api_key")
        }),
      )
    }

    it.effect("treat 40 characters of digits and a to f as a version 1 key", () =>
      Effect.gen(function* () {
        const answer = yield* request([["authorization", `Bearer ${"0a".repeat(20)}`]])
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(errorBody(answer).code, "v1_key_on_v2")
      }),
    )

    it.effect("reject a repeated Authorization through either client", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        const { token } = yield* aSender()
        for (const client of [socket, web]) {
          for (const second of ["Bearer another", `Bearer ${token}`]) {
            const answer = yield* client.call({
              path: "/api/v2/me",
              token,
              headers: [["authorization", second]],
            })
            assert.strictEqual(errorBody(answer).code, "invalid_api_key")
          }
        }
      }),
    )
  })

  layer(layerService())("over real sockets", (it) => {
    it.effect("a key shows the address of its last use", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        const workspace = yield* aWorkspace()
        const { key } = yield* aKey(workspace)
        const lastUse = Effect.map(
          operate({ path: `/admin/v1/workspaces/${workspace.id}/keys` }),
          (answer) =>
            expectBody<PageBody<{ readonly last_used_ip: string | null }>>(answer, 200).data[0]!
              .last_used_ip,
        )
        assert.strictEqual(yield* lastUse, null)
        yield* socket.call({ path: "/api/v2/me", token: key })
        assert.strictEqual(yield* lastUse, "127.0.0.1")
        yield* web.call({ path: "/api/v2/me", token: key })
        assert.strictEqual(yield* lastUse, "192.0.2.1")
      }),
    )
  })
})
