/** A server with separate ports for its operator API and its metrics (contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { aServer, forgetful, program } from "./aServer.ts"

const getStatus = (url: string, token = "") =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    await response.body?.cancel()
    return response.status
  })

describe("a server with ADMIN_PORT and METRICS_PORT", () => {
  it.effect("serves the operator and the metrics there, and no longer on PORT", () =>
    Effect.gen(function* () {
      const server = yield* aServer({ ADMIN_PORT: "0", METRICS_PORT: "0" })
      const [, admin = "", metrics = ""] = yield* server.awaitOutput(
        /^listening on \S+ \(version [\d.]+; operator API on (http:\S+); metrics on (http:\S+)\/metrics\)$/m,
      )
      const served = {
        "/api/v2/me": [200, 404, 404],
        "/admin/v1/workspaces": [401, 200, 404],
        "/metrics": [404, 404, 200],
        "/health/live": [200, 200, 200],
        "/health/ready": [200, 200, 200],
        "/docs/errors": [200, 200, 404],
        "/openapi.json": [200, 200, 404],
      }
      const { liveKey = "", operatorToken = "" } = server.stored
      for (const [path, statuses] of Object.entries(served)) {
        const token = path.startsWith("/admin") ? operatorToken : liveKey
        const found = yield* Effect.forEach([server.url, admin, metrics], (url) =>
          getStatus(url + path, token),
        )
        assert.deepStrictEqual(found, statuses, path)
      }
      // Operators read the catalogue where customers do.
      const refused = yield* Effect.promise(async () =>
        (await fetch(`${admin}/admin/v1/workspaces`)).json(),
      )
      assert.deepNestedInclude(refused as object, {
        "error.code": "missing_operator_token",
        "error.docs": `${server.url}/docs/errors#missing_operator_token`,
      })
      assert.strictEqual((yield* server.stop).code, 0)
    }),
  )

  for (const variable of ["ADMIN_PORT", "METRICS_PORT"]) {
    it.effect(`names ${variable} when another program has it`, () =>
      Effect.gen(function* () {
        const first = yield* processes.startServer(program, yield* forgetful)
        const { ended } = yield* processes.start(program, {
          ...(yield* forgetful),
          [variable]: new URL(first.url).port,
        })
        const { code, stderr, stdout } = yield* ended
        assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
        assert.match(stderr, new RegExp(`^${variable} \\d+ is in use [^\\n]+\\n$`))
      }),
    )
  }
})
