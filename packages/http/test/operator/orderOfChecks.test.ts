import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { layerService, operatorToken } from "../Service.ts"
import { operate } from "../Records.ts"

const root = "/admin/v1/workspaces"
const jsonType = ["content-type", "application/json"] as const
const acting = (role: string) => [["Acting-Role", role]] as const

describe("the order of the operator's checks", () => {
  const wrongThroughout: Call = {
    method: "POST",
    path: root,
    headers: [...acting("king"), ["content-type", "text/plain"]],
    body: "x".repeat(1_048_577),
  }

  const cases: ReadonlyArray<readonly [what: string, Call, number, string]> = [
    ["an unknown path", { ...wrongThroughout, path: "/admin/v1/x" }, 404, "not_found"],
    ["a wrong method", { ...wrongThroughout, method: "PUT" }, 405, "method_not_allowed"],
    ["no token", wrongThroughout, 401, "missing_operator_token"],
    ["a wrong token", { ...wrongThroughout, token: "x" }, 401, "invalid_operator_token"],
    ["an unknown role", { ...wrongThroughout, token: operatorToken }, 400, "validation_failed"],
    [
      "a wrong content type",
      { ...wrongThroughout, token: operatorToken, headers: [["content-type", "text/plain"]] },
      415,
      "unsupported_content_type",
    ],
    [
      "a large body",
      { ...wrongThroughout, token: operatorToken, headers: [jsonType] },
      413,
      "request_too_large",
    ],
    [
      "wrong JSON",
      { ...wrongThroughout, token: operatorToken, headers: [jsonType], body: "{" },
      400,
      "invalid_json",
    ],
    [
      "a role that may not",
      {
        method: "POST",
        path: root,
        token: operatorToken,
        headers: acting("member"),
        json: { name: 7 },
      },
      403,
      "role_required",
    ],
    [
      "an unknown field",
      { method: "POST", path: root, token: operatorToken, json: { name: "a", colour: "red" } },
      400,
      "validation_failed",
    ],
  ]

  layer(layerService())("over real sockets", (it) => {
    for (const [what, call, status, code] of cases) {
      it.effect(`${what}, with everything later wrong, is ${code}`, () =>
        Effect.gen(function* () {
          const { socket, web } = yield* HttpTestClients
          for (const client of [socket, web]) {
            const answer = yield* client.call(call)
            assert.strictEqual(answer.status, status, answer.text)
            assert.strictEqual(errorBody(answer).code, code)
            assert.notProperty(answer.headers, "ratelimit-limit")
          }
        }),
      )
    }

    it.effect("the error names the header with the role", () =>
      Effect.gen(function* () {
        for (const role of ["king", "", "Owner", "owner, member"]) {
          const answer = yield* operate({ path: root, headers: acting(role) })
          assert.deepInclude(errorBody(answer), { code: "validation_failed", field: "Acting-Role" })
        }
      }),
    )
  })
})
