import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import type { Call } from "./HttpTestClients.ts"
import { layerService, operatorToken } from "./Service.ts"
import { aListener } from "./Records.ts"

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly requestBody?: { readonly content: object }
            readonly parameters?: ReadonlyArray<{
              readonly in: string
              readonly name: string
              readonly required?: boolean
            }>
          }
        >
      >
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

/** Any body of the type that an operation takes. */
const exampleBody = (content: object = {}) => {
  const types = Object.keys(content)
  if (types.includes("application/json")) return { json: {} }
  return types.includes("multipart/form-data") ? aForm : {}
}

/** The path with that workspace, and records that do not exist. */
const filled = (path: string, workspace: { readonly id: number }): string =>
  path
    // Operations of version 2 find the workspace before they read the query.
    .replace(/\/workspaces\/\{id\}(?=\/|$)/, `/workspaces/${workspace.id}`)
    .replaceAll(/\{\w+\}/g, "999999")

layer(layerService())("query parameters", (it) => {
  it.effect("that hold a NUL, which no store accepts, are refused by every operation", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token, workspace } = yield* aListener()
      const document = (yield* socket.call({ path: "/openapi.json" })).body as Described
      let refused = 0
      for (const [path, operations] of Object.entries(document.paths)) {
        for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
          for (const { in: location, name } of parameters) {
            if (location !== "query") continue
            const what = `${method} ${path} ${name}`
            const there = filled(path, workspace)
            const needed = parameters
              .filter((other) => other.in === "query" && other.required && other.name !== name)
              .map((other) => `${other.name}=1&`)
              .join("")
            const answer = yield* socket.call({
              method: method.toUpperCase(),
              path: `${there}?${needed}${name}=a%00`,
              token: path.startsWith("/admin/") ? operatorToken : token,
              ...exampleBody(requestBody?.content),
            })
            // Of a record or workspace that does not exist.
            if (answer.status === 404) {
              assert.isTrue(there.includes("999999") || name === "workspace_id", what)
              continue
            }
            refused++
            if (path.startsWith("/api/v1/")) {
              assert.strictEqual(answer.status, 400, what)
              continue
            }
            assert.include([400, 422], answer.status, what)
            const { code, field } = errorBody(answer)
            assert.strictEqual(field, name, what)
            assert.include(
              ["invalid_cursor", "invalid_datetime", "invalid_phone", "validation_failed"],
              code,
              what,
            )
          }
        }
      }
      assert.isAbove(refused, 60)
    }),
  )
})
