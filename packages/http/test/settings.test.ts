import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService, operatorToken } from "./Service.ts"
import { operate } from "./Records.ts"

/** The statuses that the operator gets. */
const readStatuses = (...paths: ReadonlyArray<string>) =>
  Effect.forEach(paths, (path) => Effect.map(operate({ path }), ({ status }) => status))

/** The paths in the served document. */
const documented = Effect.map(operate({ path: "/openapi.json" }), ({ body }) =>
  Object.keys((body as { readonly paths: object }).paths),
)

describe("a disabled part", () => {
  layer(layerService({ settings: { operatorToken: null, dashboard: null } }))(
    "without the operator API",
    (it) => {
      it.effect("is the operator API without an operator token", () =>
        Effect.gen(function* () {
          const { socket } = yield* HttpTestClients
          for (const token of ["", "null", operatorToken]) {
            const answer = yield* socket.call({ path: "/admin/v1/workspaces", token })
            assert.strictEqual(answer.status, 404)
          }
        }),
      )
    },
  )

  layer(layerService({ settings: { emulator: null } }))("without the emulator", (it) => {
    it.effect("is the emulator with live transports", () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        const answer = yield* operate({ path: "/admin/v1/simulator/clock" })
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorBody(answer).code, "not_found")
        const unauthorised = yield* socket.call({ path: "/admin/v1/simulator/clock" })
        assert.strictEqual(unauthorised.status, 404)
      }),
    )
  })

  layer(layerService({ settings: { metrics: false } }))("without metrics", (it) => {
    it.effect("is the metrics page alone, also in the document", () =>
      Effect.gen(function* () {
        const statuses = yield* readStatuses(
          "/metrics",
          "/health/live",
          "/docs",
          "/admin/v1/workspaces",
        )
        assert.deepStrictEqual(statuses, [404, 200, 200, 200])
        assert.notInclude(yield* documented, "/metrics")
      }),
    )
  })

  const operatorAlone = { customers: false, metrics: false }
  layer(layerService({ settings: operatorAlone }))("for the operator alone", (it) => {
    it.effect("serves the operator API with its pages, and nothing for customers", () =>
      Effect.gen(function* () {
        const served = ["/admin/v1/workspaces", "/docs", "/docs/errors", "/health/ready"]
        assert.deepStrictEqual(yield* readStatuses(...served), [200, 200, 200, 200])
        const gone = ["/api/v2/me", "/api/v1/me/", "/media/a/b", "/qr/a.png", "/metrics"]
        assert.deepStrictEqual(yield* readStatuses(...gone), [404, 404, 404, 404, 404])
        const others = (yield* documented).filter((path) => !path.startsWith("/admin/v1/"))
        assert.deepStrictEqual(others.toSorted(), [
          "/docs",
          "/docs/errors",
          "/docs/operations",
          "/health/live",
          "/health/ready",
          "/openapi.json",
        ])
      }),
    )
  })

  plain.effect("links begin with an origin that may be known only later", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const answer = yield* socket.call({ path: "/nothing" })
      assert.strictEqual(errorBody(answer).docs, "http://127.0.0.1:1/docs/errors#not_found")
    }).pipe(
      Effect.provide(
        layerService({ settings: { publicUrl: Effect.succeed("http://127.0.0.1:1") } }),
      ),
    ),
  )
})
