/** Requests of version 1 in each kind of body, and their senders. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Answer, Call } from "../HttpTestClients.ts"
import { aKey, aKeyV1, aNumber, aWorkspace, expectBody, operate } from "../Records.ts"
import type { Created, MessageBody } from "../Records.ts"
import { get } from "../v2/Asking.ts"
import { aPart, form, multipart } from "../v2/Uploading.ts"
import type { FormPart } from "../v2/Uploading.ts"

export const kinds = ["JSON", "form", "multipart"] as const

/** The kinds of bodies. */
export type Kind = (typeof kinds)[number]

/** The fields of a request; a form omits null and writes the rest as text. */
export type Fields = Readonly<Record<string, unknown>>

const getEntries = (fields: Fields): ReadonlyArray<readonly [string, string]> =>
  Object.entries(fields).flatMap(([name, value]): ReadonlyArray<readonly [string, string]> =>
    value === null || value === undefined ? [] : [[name, String(value)]],
  )

export const bodyAs = (kind: Kind, fields: Fields): Partial<Call> => {
  switch (kind) {
    case "JSON":
      return { json: fields }
    case "form":
      return {
        headers: [["content-type", "application/x-www-form-urlencoded"]],
        body: new URLSearchParams(Object.fromEntries(getEntries(fields))).toString(),
      }
    case "multipart":
      return withFile(fields, [])
  }
}

/** A multipart form with files after its fields. */
export const withFile = (
  fields: Fields,
  files: ReadonlyArray<Partial<FormPart>>,
): Partial<Call> => ({
  headers: [multipart],
  body: form([
    ...getEntries(fields).map(([name, value]): FormPart => ({
      name,
      fileName: null,
      bytes: value,
    })),
    ...files.map(aPart),
  ]),
})

export const at = (operation: string): string => `/api/v1/${operation}`

export const call = (operation: string, overrides: Partial<Call>) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "POST", path: at(operation), ...overrides }),
  )

export const request = (operation: string, fields: Fields, kind: Kind = "JSON") =>
  call(operation, bodyAs(kind, fields))

export type Credentials = {
  readonly client_id: number
  readonly api_key: string
}

export interface Client {
  readonly workspace: Created
  readonly number: Created & { readonly phone: string }
  readonly key: Created
  readonly credentials: Credentials
}

const readClientId = (workspace: Created) =>
  Effect.map(
    operate({ path: `/admin/v1/workspaces/${workspace.id}` }),
    (answer) => expectBody<{ readonly client_id: number }>(answer, 200).client_id,
  )

/** A workspace with a version 1 key and without a number. */
export const aLonelyClient = (fields: Fields = {}) =>
  Effect.gen(function* () {
    const workspace = yield* aWorkspace(fields)
    const key = yield* aKeyV1(workspace)
    const credentials: Credentials = {
      client_id: yield* readClientId(workspace),
      api_key: key.key,
    }
    return { workspace, key, credentials }
  })

/** A workspace with one connected number and a version 1 key. */
export const aClient = (
  fields: { readonly workspace?: Fields; readonly number?: Fields } = {},
): Effect.Effect<Client, never, HttpTestClients> =>
  Effect.gen(function* () {
    const client = yield* aLonelyClient(fields.workspace)
    return { ...client, number: yield* aNumber(client.workspace, fields.number) }
  })

export const aText = { country_code: "1", phone: "5550001234", msg: "Hello" }

/** The body of an answer with that status. */
export const answered = <A>(answer: Answer, status = 200): A => expectBody<A>(answer, status)

/** Asserts a refusal of version 1: the status, and the text alone. */
export const assertRefusedV1 = (answer: Answer, status: number, message: string): void => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.deepStrictEqual(answer.body, { status: 0, message })
  assert.strictEqual(answer.headers["content-type"], "application/json")
  assert.isUndefined(answer.headers["www-authenticate"])
  assert.match(answer.headers["x-request-id"] ?? "", /^req_[0-9A-Za-z]{24}$/)
  assert.strictEqual(answer.headers["cache-control"], "no-store")
}

export interface SentBody {
  readonly status: 1
  readonly message: string
  readonly msg_id: number
}

/** Sends, and returns the new message's id. */
export const sends = (credentials: Credentials, fields: Fields = {}, operation = "send_msg/") =>
  Effect.map(
    request(operation, { ...credentials, ...aText, ...fields }),
    (answer) => answered<SentBody>(answer).msg_id,
  )

/** The message as version 2 shows it. */
export const onV2 = ({ workspace }: Pick<Client, "workspace">, id: number) =>
  Effect.gen(function* () {
    const { key } = yield* aKey(workspace)
    return expectBody<MessageBody>(yield* get(key, `/api/v2/messages/${id}`), 200)
  })

/** The names of an answer's fields, with their types. */
export const toShape = (answer: Answer) =>
  Object.entries(answered<object>(answer)).map(([name, value]) => [name, typeof value])

/** A client with a key of each version. */
export const both = (fields: Parameters<typeof aClient>[0] = {}) =>
  Effect.gen(function* () {
    const client = yield* aClient(fields)
    const { key } = yield* aKey(client.workspace)
    return { ...client, token: key }
  })
