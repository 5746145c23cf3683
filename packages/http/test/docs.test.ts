import { assert, layer } from "@effect/vitest"
import { catalogue } from "@messaging-service/core"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService, publicUrl } from "./Service.ts"

layer(layerService())("the error catalogue", (it) => {
  it.effect("is the target of `docs` in an error: a link to the code in the error catalogue", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { docs } = errorBody(yield* socket.call({ path: "/nowhere" }))
      const [address, anchor] = String(docs).split("#")
      assert.strictEqual(address, `${publicUrl}/docs/errors`)
      const page = yield* socket.call({ path: "/docs/errors" })
      assert.strictEqual(page.status, 200)
      assert.include(page.text, `id="${anchor}"`)
      for (const code of Object.keys(catalogue)) assert.include(page.text, `id="${code}"`)
    }),
  )

  it.effect("has no other method and no neighbour", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const posted = yield* socket.call({ path: "/docs/errors", method: "POST" })
      assert.strictEqual(posted.status, 405)
      assert.strictEqual((yield* socket.call({ path: "/docs/nothing" })).status, 404)
    }),
  )
})
