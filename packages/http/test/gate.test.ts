/** While the process must not work, customers are refused, and operators are not. */
import { assert, layer } from "@effect/vitest"
import { WorkGate } from "@messaging-service/core"
import { Effect } from "effect"
import { Doors, errorOf } from "./Doors.ts"
import { layerService, operatorToken } from "./Service.ts"

layer(layerService())("a process that must not work", (it) => {
  it.effect("answers 503 on every path of /api, whatever the key, and serves all others", () =>
    Effect.gen(function* () {
      const gate = yield* WorkGate
      const { socket, web } = yield* Doors
      yield* gate.close("clock", "the clock is wrong")
      for (const door of [socket, web]) {
        for (const path of ["/api/v2/messages", "/api/v2/me", "/api/v2/nothing"]) {
          const answer = yield* door.call({ path })
          assert.strictEqual(answer.status, 503)
          assert.strictEqual(errorOf(answer).code, "service_unavailable")
          assert.strictEqual(answer.headers["retry-after"], "5")
        }
        const version1 = yield* door.call({ path: "/api/v1/send_msg/", method: "POST", body: "{}" })
        assert.strictEqual(version1.status, 503)
        assert.include(version1.text, "Service unavailable")
        const operator = yield* door.call({ path: "/admin/v1/workspaces", token: operatorToken })
        assert.strictEqual(operator.status, 200)
        assert.strictEqual((yield* door.call({ path: "/health/ready" })).status, 503)
        assert.strictEqual((yield* door.call({ path: "/health/live" })).status, 200)
        const metrics = yield* door.call({ path: "/metrics" })
        assert.include(metrics.text, 'messaging_not_ready{reason="clock"} 1')
      }
      yield* gate.open("clock")
      for (const door of [socket, web]) {
        assert.strictEqual((yield* door.call({ path: "/api/v2/messages" })).status, 401)
        assert.strictEqual((yield* door.call({ path: "/health/ready" })).status, 200)
      }
    }),
  )
})
