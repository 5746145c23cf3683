import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Doors, errorOf } from "./Doors.ts"
import { layerService, operatorToken } from "./Service.ts"
import { operate } from "./World.ts"

describe("where it is not wanted", () => {
  layer(layerService({ settings: { operatorToken: null } }))("without the operator API", (it) => {
    it.effect("there is no operator API without an operator token", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        for (const token of ["", "null", operatorToken]) {
          const answer = yield* socket.call({ path: "/admin/v1/workspaces", token })
          assert.strictEqual(answer.status, 404)
        }
      }),
    )
  })

  layer(layerService({ settings: { emulator: false } }))("without the emulator", (it) => {
    it.effect("there are no emulator controls with live transports", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const answer = yield* operate({ path: "/admin/v1/simulator/clock" })
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorOf(answer).code, "not_found")
        const unauthorised = yield* socket.call({ path: "/admin/v1/simulator/clock" })
        assert.strictEqual(unauthorised.status, 404)
      }),
    )
  })

  plain.effect("links begin with an origin that may be known only later", () =>
    Effect.gen(function* () {
      const { socket } = yield* Doors
      const answer = yield* socket.call({ path: "/nothing" })
      assert.strictEqual(errorOf(answer).docs, "http://127.0.0.1:1/docs/errors#not_found")
    }).pipe(
      Effect.provide(
        layerService({ settings: { publicUrl: Effect.succeed("http://127.0.0.1:1") } }),
      ),
    ),
  )
})
