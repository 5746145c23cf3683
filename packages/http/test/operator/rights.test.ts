/**
 * Who may do what (contract: Who may do what): every operation of the operator API is asked for by each
 * kind of caller. An operation without a line in the table fails.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { listOperations, served } from "../openapi/Document.ts"
import { aWorkspace } from "../Records.ts"
import { layerService } from "../Service.ts"
import { rights } from "./rights.ts"
import { aSession, callers as all } from "./sessionCookies.ts"

/** What says that the caller may not. */
const refused = ["operator_required", "role_required", "session_ended", "workspace_not_found"]

const admitted = (status: number, code: string): boolean =>
  status !== 401 && !refused.includes(code)

describe("rights", () => {
  // Streams end at once.
  layer(layerService({ settings: { stopping: Effect.void } }))("over real sockets", (it) => {
    it.effect("every operation has a line in the table, and every line an operation", () =>
      Effect.gen(function* () {
        const ids = listOperations(yield* served).flatMap(({ id, path }) =>
          path.startsWith("/admin/v1") ? id : [],
        )
        assert.sameMembers(ids, Object.keys(rights))
      }),
    )

    for (const caller of all) {
      it.effect(
        `a session of ${caller === "operator" ? "the operator" : `a portal's ${caller}`} may do what the table says`,
        () =>
          Effect.gen(function* () {
            const { socket } = yield* HttpTestClients
            const operations = listOperations(yield* served).filter(({ path }) =>
              path.startsWith("/admin/v1"),
            )
            for (const { id, method, path } of operations) {
              const workspace = yield* aWorkspace()
              const cookie = yield* aSession(caller, workspace.id)
              const pathIn =
                path === "/admin/v1/events" ? `${path}?workspace_id=${workspace.id}` : path
              const answer = yield* socket.call({
                method,
                path: pathIn
                  .replace("/workspaces/{id}", `/workspaces/${workspace.id}`)
                  .replaceAll(/\{\w+\}/g, "987654"),
                headers: [
                  ["cookie", cookie],
                  ["sec-fetch-site", "same-origin"],
                ],
                ...(["POST", "PUT", "PATCH"].includes(method) ? { body: "{" } : {}),
              })
              const code = answer.status < 400 ? "" : errorBody(answer).code
              const may = rights[id]?.includes(caller) ?? false
              const isAdmitted = admitted(answer.status, code) || path === "/admin/v1/session"
              assert.strictEqual(isAdmitted, may, `${caller} ${id}: ${answer.status} ${code}`)
              if (!may) assert.strictEqual(answer.status, 403, answer.text)
            }
          }),
      )
    }
  })
})
