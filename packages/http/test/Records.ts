/** Records that tests need, created through the operator API. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Doors } from "./Doors.ts"
import type { Answer, Call } from "./Doors.ts"
import { operatorToken } from "./Service.ts"

/** An operator's request through the socket. */
export const operate = (call: Call) =>
  Effect.flatMap(Doors, ({ socket }) => socket.call({ token: operatorToken, ...call }))

/** The answer's body, asserting that status. */
export const bodyOf = <A>(answer: Answer, status: number): A => {
  assert.strictEqual(answer.status, status, answer.text)
  return answer.body as A
}

const make = <A>(path: string, json: unknown) =>
  Effect.map(operate({ method: "POST", path, json }), (answer) => bodyOf<A>(answer, 201))

export interface Made {
  readonly id: number
}

let made = 0
/** A phone that nothing else in this process uses. */
const fresh = (): number => ++made

export const aPhone = (): string => `+1555${String(fresh()).padStart(7, "0")}`

export const aWorkspace = (fields: Readonly<Record<string, unknown>> = {}) =>
  make<Made>("/admin/v1/workspaces", { name: "A workspace", ...fields })

/** The plan of a workspace in the operator's format. */
export const aPlan = (fields: Readonly<Record<string, unknown>> = {}) => ({
  name: "Plan",
  messages_remaining: null,
  reminders: true,
  qr_code_api: true,
  max_numbers: null,
  media_storage_bytes: 0,
  ...fields,
})

export const aNumber = (workspace: Made, fields: Readonly<Record<string, unknown>> = {}) =>
  make<Made & { readonly phone: string }>(`/admin/v1/workspaces/${workspace.id}/numbers`, {
    platform: "whatsapp",
    phone: aPhone(),
    ...fields,
  })

/** A version 2 key. */
export const aKey = (workspace: Made, fields: Readonly<Record<string, unknown>> = {}) =>
  make<Made & { readonly key: string }>(`/admin/v1/workspaces/${workspace.id}/keys`, {
    version: 2,
    name: "A key",
    ...fields,
  })

export const aContact = (workspace: Made, fields: Readonly<Record<string, unknown>> = {}) =>
  make<Made>(`/admin/v1/workspaces/${workspace.id}/contacts`, {
    name: "A contact",
    ...fields,
  })

export const revoke = (workspace: Made, key: Made) =>
  Effect.map(
    operate({ method: "DELETE", path: `/admin/v1/workspaces/${workspace.id}/keys/${key.id}` }),
    (answer) => bodyOf(answer, 200),
  )

export const change = (workspace: Made, fields: Readonly<Record<string, unknown>>) =>
  Effect.map(
    operate({ method: "PATCH", path: `/admin/v1/workspaces/${workspace.id}`, json: fields }),
    (answer) => bodyOf(answer, 200),
  )

export const remove = (workspace: Made) =>
  Effect.map(
    operate({ method: "DELETE", path: `/admin/v1/workspaces/${workspace.id}` }),
    (answer) => bodyOf(answer, 200),
  )

/** A workspace with one connected number and a key to all of it. */
export const aSender = (
  fields: {
    readonly workspace?: Readonly<Record<string, unknown>>
    readonly number?: Readonly<Record<string, unknown>>
    readonly key?: Readonly<Record<string, unknown>>
  } = {},
) =>
  Effect.gen(function* () {
    const workspace = yield* aWorkspace(fields.workspace)
    const number = yield* aNumber(workspace, fields.number)
    const key = yield* aKey(workspace, fields.key)
    return { workspace, number, key, token: key.key }
  })

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
    (answer) => bodyOf(answer, 200),
  )

/** Waits until nothing is due or in flight. */
export const settle = Effect.map(
  operate({ method: "POST", path: "/admin/v1/simulator/settle" }),
  (answer) => bodyOf(answer, 200),
)
