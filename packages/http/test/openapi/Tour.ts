/** Requests with answers that are validated against the running service's own document. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import type { Created } from "../Records.ts"
import { operationFor, served, undocumented } from "./Document.ts"

/** Sends requests, and records the operations that answered with their statuses. */
export const aTour = Effect.gen(function* () {
  const { socket } = yield* HttpTestClients
  const document = yield* served
  const findProblems = undocumented(document)
  const seen = new Set<string>()

  /** The answer's body, asserting that status and the document's description. */
  const request = <A = Created>(call: Call, status: number) =>
    Effect.map(socket.call(call), (answer) => {
      const at = `${call.method ?? "GET"} ${call.path} ${status}`
      const text = answer.text.slice(0, 300)
      assert.strictEqual(answer.status, status, `${at}: ${text}`)
      assert.deepStrictEqual(findProblems(call, answer), [], `${at}: ${text}`)
      seen.add(`${operationFor(document, call)?.id} ${status}`)
      return answer.body as A
    })

  const as =
    (token: string) =>
    (method: string, path: string, json?: unknown, more: Partial<Call> = {}): Call => ({
      method,
      path,
      token,
      ...(json === undefined ? {} : { json }),
      ...more,
    })

  return { document, request, as, seen, socket }
})

export const admin = "/admin/v1/workspaces"
export const simulator = "/admin/v1/simulator"
export const v2 = "/api/v2"

export const phone = "+15550001234"
