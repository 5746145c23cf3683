/** Records that tests need, created through the operator API. */
import { assert } from "@effect/vitest"
import { http } from "@messaging-service/testkit/world"
import { Effect } from "effect"
import { HttpTestClients } from "./HttpTestClients.ts"
import type { Answer, Call } from "./HttpTestClients.ts"
import { operatorToken } from "./Service.ts"

export { aPhone } from "@messaging-service/testkit/world"
export const aPlan = http.aPlanInJson

type Created = http.Created
export type { Created }

/** An operator's request through the socket. */
export const operate = (call: Call) =>
  Effect.flatMap(HttpTestClients, ({ socket }) => socket.call({ token: operatorToken, ...call }))

/** The answer's body, asserting that status. */
export const expectBody = <A>(answer: Answer, status: number): A => {
  assert.strictEqual(answer.status, status, answer.text)
  return answer.body as A
}

export const {
  aContact,
  aKey,
  aKeyV1,
  aNumber,
  aWorkspace,
  aSender: senderWith,
} = http.buildersWith(<Body>(path: string, json: unknown) =>
  Effect.map(operate({ method: "POST", path: `/admin/v1${path}`, json }), (answer) =>
    expectBody<Body>(answer, 201),
  ),
)

/** A workspace with one connected number, a key to all of it, and its token. */
export const aSender = (fields?: Parameters<typeof senderWith>[0]) =>
  Effect.map(senderWith(fields), (sender) => ({ ...sender, token: sender.key.key }))

export const revoke = (workspace: Created, key: Created) =>
  Effect.map(
    operate({ method: "DELETE", path: `/admin/v1/workspaces/${workspace.id}/keys/${key.id}` }),
    (answer) => expectBody(answer, 200),
  )

export const change = (workspace: Created, fields: Readonly<Record<string, unknown>>) =>
  Effect.map(
    operate({ method: "PATCH", path: `/admin/v1/workspaces/${workspace.id}`, json: fields }),
    (answer) => expectBody(answer, 200),
  )

export const remove = (workspace: Created) =>
  Effect.map(
    operate({ method: "DELETE", path: `/admin/v1/workspaces/${workspace.id}` }),
    (answer) => expectBody(answer, 200),
  )

export const aText = { to: { phone: "+15550001234" }, text: "Hello" }

/** A Message in an answer. */
export interface MessageBody {
  readonly id: number
  readonly status: string
  readonly from: { readonly id: number; readonly phone: string; readonly platform: string }
  readonly to: Readonly<Record<string, unknown>>
  readonly text: string
  readonly [field: string]: unknown
}

export interface PageBody<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/** Moves an adjustable clock. */
export const advance = (seconds: number) =>
  Effect.map(
    operate({ method: "POST", path: "/admin/v1/simulator/clock/advance", json: { seconds } }),
    (answer) => expectBody(answer, 200),
  )

/** Waits until nothing is due or in flight. */
export const settle = Effect.map(
  operate({ method: "POST", path: "/admin/v1/simulator/settle" }),
  (answer) => expectBody(answer, 200),
)

/** A workspace with conversations, its number, and a key of every scope that was made since. */
export const aListener = (settings: object = {}) =>
  Effect.gen(function* () {
    const { number, workspace } = yield* aSender()
    const path = `/admin/v1/workspaces/${workspace.id}/conversations`
    expectBody(yield* operate({ method: "PUT", path, json: settings }), 200)
    const { id: keyId, key: token } = yield* aKey(workspace, { scopes: "all" })
    return { number, keyId, token, workspace }
  })
