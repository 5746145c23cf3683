import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Doors, errorOf } from "./Doors.ts"
import type { Call } from "./Doors.ts"
import { layerService, operatorToken } from "./Service.ts"
import { aSender } from "./Records.ts"

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly requestBody?: { readonly content: object } }>>
    >
  >
}

const boundary = "part"
const aForm: Pick<Call, "headers" | "body"> = {
  headers: [["content-type", `multipart/form-data; boundary=${boundary}`]],
  body: [
    `--${boundary}`,
    'content-disposition: form-data; name="file"; filename="a.txt"',
    "",
    "Hello",
    `--${boundary}--`,
    "",
  ].join("\r\n"),
}

layer(layerService())("query parameters", (it) => {
  it.effect("are refused when unknown, by every operation of version 2 and of the operator", () =>
    Effect.gen(function* () {
      const { socket } = yield* Doors
      const { token, workspace } = yield* aSender()
      const document = (yield* socket.call({ path: "/openapi.json" })).body as Described
      let asked = 0
      for (const [path, operations] of Object.entries(document.paths)) {
        const prefix = ["/api/v2", "/admin/v1"].find((root) => path.startsWith(`${root}/`))
        if (prefix === undefined) continue
        for (const [method, { requestBody }] of Object.entries(operations)) {
          const types = Object.keys(requestBody?.content ?? {})
          const body = types.includes("application/json")
            ? { json: {} }
            : types.includes("multipart/form-data")
              ? aForm
              : {}
          const answer = yield* socket.call({
            method: method.toUpperCase(),
            path: `${path
              // Version 2's operations find the workspace before they read the query.
              .replace("/workspaces/{id}/", `/workspaces/${workspace.id}/`)
              .replaceAll(/\{\w+\}/g, "999999")}?colour=red`,
            token: prefix === "/api/v2" ? token : operatorToken,
            ...body,
          })
          const refused = errorOf(answer)
          const what = `${method} ${path}`
          assert.deepInclude(refused, { code: "validation_failed", field: "colour" }, what)
          assert.include(refused.message, "colour", what)
          asked++
        }
      }
      assert.isAbove(asked, 50)
    }),
  )
})
