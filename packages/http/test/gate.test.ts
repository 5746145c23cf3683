/** While the process must not work, customers are refused, and operators are not. */
import { assert, layer } from "@effect/vitest"
import { WorkGate } from "@messaging-service/core"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService, operatorToken } from "./Service.ts"

layer(layerService())("a process that must not work", (it) => {
  it.effect("answers 503 on every path of /api, whatever the key, and serves all others", () =>
    Effect.gen(function* () {
      const gate = yield* WorkGate
      const { socket, web } = yield* HttpTestClients
      yield* gate.close("clock", "the clock is wrong")
      for (const client of [socket, web]) {
        for (const path of ["/api/v2/messages", "/api/v2/me", "/api/v2/nothing"]) {
          const answer = yield* client.call({ path })
          assert.strictEqual(answer.status, 503)
          assert.strictEqual(errorBody(answer).code, "service_unavailable")
          assert.strictEqual(answer.headers["retry-after"], "5")
        }
        const version1 = yield* client.call({
          path: "/api/v1/send_msg/",
          method: "POST",
          body: "{}",
        })
        assert.strictEqual(version1.status, 503)
        assert.include(version1.text, "Service unavailable")
        const operator = yield* client.call({ path: "/admin/v1/workspaces", token: operatorToken })
        assert.strictEqual(operator.status, 200)
        assert.strictEqual((yield* client.call({ path: "/health/ready" })).status, 503)
        assert.strictEqual((yield* client.call({ path: "/health/live" })).status, 200)
        const metrics = yield* client.call({ path: "/metrics" })
        assert.include(metrics.text, 'messaging_not_ready{reason="clock"} 1')
      }
      yield* gate.open("clock")
      for (const client of [socket, web]) {
        assert.strictEqual((yield* client.call({ path: "/api/v2/messages" })).status, 401)
        assert.strictEqual((yield* client.call({ path: "/health/ready" })).status, 200)
      }
    }),
  )
})
