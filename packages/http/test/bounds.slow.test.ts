/**
 * Every operation, sent far more than an answer may repeat (sharedResources: formEntries, jsonValues,
 * refusalErrors, refusalBytes). The operations come from the served document, so new ones are included.
 */
import { assert, layer } from "@effect/vitest"
import { maximumErrors, sharedLimits } from "@messaging-service/core"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import type { Answer, Call } from "./HttpTestClients.ts"
import { listOperations, served } from "./openapi/Document.ts"
import type { DocumentObject, Json, Placed } from "./openapi/Document.ts"
import { layerService, operatorToken } from "./Service.ts"
import { aClient } from "./v1/Asking.ts"
import { form, multipart } from "./v2/Uploading.ts"
import { aKey, aListener } from "./Records.ts"

/** Enough to exceed every bound many times; a full body of 1 MiB would only take longer. */
const bodyBytes = 4 * sharedLimits.refusalBytes.whole

const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The field names of an operation's JSON body; undefined without such a body. */
const toFields = (document: DocumentObject, { operation }: Placed) => {
  const schema = operation.requestBody?.content["application/json"]?.schema
  if (schema === undefined) return undefined
  const name = String(schema["$ref"] ?? "").replace("#/components/schemas/", "")
  const { properties } = name === "" ? schema : (document.components["schemas"]?.[name] ?? {})
  return isJson(properties) ? Object.keys(properties) : []
}

/** How many values a field gets. */
interface Room {
  readonly size: number
  /** Values of JSON. */
  readonly count: number
}

const repeated = (count: number, part: (at: number) => string, open = "[", close = "]"): string =>
  `${open}${Array.from({ length: count }, (_, at) => part(at)).join(",")}${close}`

const unknownFields = ({ size, count }: Room) => {
  const length = Math.max(Math.floor(size / count) - 5, 1)
  return repeated(count, (at) => `"${`u${at}`.padEnd(length, "x")}":0`, "{", "}")
}

/** The value of every field of a body, by how many values a field gets. */
const values: Readonly<Record<string, (room: Room) => string>> = {
  "lists of bad members": ({ count }) => repeated(count, () => "0"),
  "lists of objects": ({ count }) => repeated(count, () => "{}"),
  "lists of as many objects as may be": ({ size, count }) => {
    const objects = Math.min(900, Math.floor(count / 2))
    const room = { size: size / objects, count: Math.floor(count / objects) - 1 }
    return repeated(objects, () => unknownFields(room))
  },
  "objects of unknown fields": unknownFields,
  "long text": ({ size }) => `"${"\\u0001".repeat(size / 6 - 1)}"`,
  "text with commas": ({ size }) => `"${"1,".repeat(size / 2 - 4)}"`,
}

/** Everything outside the fields. */
const all: Room = { size: bodyBytes - 4096, count: sharedLimits.jsonValues.whole - 100 }

const withValues = (fields: ReadonlyArray<string>, value: (room: Room) => string, first = "") => {
  const holders = Math.max(fields.length, 1)
  const room = {
    size: Math.floor(all.size / holders) - 32,
    count: Math.floor(all.count / holders),
  }
  const members = fields.map((field) => `${JSON.stringify(field)}:${value(room)}`)
  return `{${[...(first === "" ? [] : [first]), ...members].join(",")}}`
}

const bodies: Readonly<Record<string, (fields: ReadonlyArray<string>, first: string) => string>> = {
  ...Object.fromEntries(
    Object.entries(values).map(([what, value]) => [
      what,
      (fields: ReadonlyArray<string>, first: string) => withValues(fields, value, first),
    ]),
  ),
  "one long name": (_, first) =>
    `{${first === "" ? "" : `${first},`}"${"\\u0001".repeat(bodyBytes / 8)}":0}`,
  "names that it does not know": (_, first) =>
    `{${first === "" ? "" : `${first},`}${unknownFields(all).slice(1)}`,
}

const withinBounds = (answer: Answer, what: string) => {
  if (answer.status < 300) return
  assert.isAtMost(Buffer.byteLength(answer.text), sharedLimits.refusalBytes.whole, what)
  // Group sends of version 1 may answer with an HTML page of status 500 (contract: Version 1: sends).
  const page = answer.headers["content-type"]?.startsWith("text/html") === true
  if (!page) assert.isBelow(answer.status, 500, `${what}: ${answer.text.slice(0, 200)}`)
  for (const [name, value] of Object.entries(answer.headers)) {
    assert.isAtMost(value.length, 1000, `${what}: ${name}`)
  }
  if (!page && "error" in (answer.body as object)) {
    assert.isAtMost((errorBody(answer).errors ?? []).length, maximumErrors, what)
  }
}

/** Callers for one operation, which no rate limit stops; ids in paths are theirs. */
const caller = ({ path }: Placed) =>
  Effect.gen(function* () {
    if (path.startsWith("/api/v1")) {
      const { credentials, number, workspace } = yield* aClient()
      const { api_key, client_id } = credentials
      return { token: api_key, first: `"client_id":${client_id}`, clientId: client_id, number, workspace } // prettier-ignore
    }
    const { number, token, workspace } = yield* aListener()
    const operator = path.startsWith("/admin")
    return { token: operator ? operatorToken : token, first: "", clientId: 0, number, workspace }
  })

const toPath = (
  { path }: Placed,
  { number, workspace }: { readonly number: { readonly id: number }; readonly workspace: { readonly id: number } }, // prettier-ignore
) =>
  path
    .replace("/workspaces/{id}", `/workspaces/${workspace.id}`)
    .replace("{number_id}", String(number.id))
    .replaceAll(/\{\w+\}/g, String(number.id))

const jsonType = ["content-type", "application/json"] as const

layer(layerService())("every operation", (it) => {
  for (const [what, fill] of Object.entries(bodies)) {
    it.effect(`answers a body full of ${what} within bounds`, () =>
      Effect.gen(function* () {
        const { web } = yield* HttpTestClients
        const document = yield* served
        let requests = 0
        for (const placed of listOperations(document)) {
          const fields = toFields(document, placed)
          if (fields === undefined) continue
          const by = yield* caller(placed)
          const answer = yield* web.call({
            method: placed.method,
            path: toPath(placed, by),
            token: by.token,
            headers: [jsonType],
            body: fill(
              fields.filter((field) => field !== "client_id" && field !== "api_key"),
              by.first,
            ),
          })
          withinBounds(answer, `${placed.method} ${placed.path}`)
          // The operation answers: the body was read.
          assert.notStrictEqual(answer.status, 413, `${placed.method} ${placed.path}`)
          requests++
        }
        assert.isAbove(requests, 25)
      }),
    )
  }

  it.effect("refuses a body of more than 10,000 values, and stops reading there", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const max = sharedLimits.jsonValues.whole
      let requests = 0
      for (const placed of listOperations(yield* served)) {
        if (toFields(yield* served, placed) === undefined) continue
        const by = yield* caller(placed)
        const answer = yield* web.call({
          method: placed.method,
          path: toPath(placed, by),
          token: by.token,
          headers: [jsonType],
          body: `{"a":[${"{},".repeat(max - 1)}?`,
        })
        const what = `${placed.method} ${placed.path}: ${answer.text.slice(0, 200)}`
        assert.strictEqual(answer.status, 413, what)
        if (placed.path.startsWith("/api/v1"))
          assert.include(answer.text, "Request too large", what)
        else {
          const { code, message } = errorBody(answer)
          assert.deepStrictEqual(
            [code, message],
            ["request_too_large", `The body holds more than ${max} values.`],
            what,
          )
        }
        requests++
      }
      assert.isAbove(requests, 25)
    }),
  )

  it.effect("answers a full query and full headers within bounds", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const document = yield* served
      const queries = [
        `${"%01".repeat(25_000)}=1`,
        Array.from({ length: 900 }, (_, at) => `${"%01".repeat(100)}${at}=1`).join("&"),
        Array.from({ length: 30_000 }, (_, at) => `u${at}`).join("&"),
        `${"%01".repeat(25_000)}=1`.concat(`&${"%01".repeat(25_000)}=1`),
        `status=${"x,".repeat(50_000)}`,
      ]
      const long = "x".repeat(100_000)
      const headers: ReadonlyArray<readonly [string, string]> = [
        ["idempotency-key", long],
        ["x-request-id", long],
        ["acting-role", long],
        ["content-type", long],
        ["content-encoding", long],
        ["range", `bytes=${long}`],
      ]
      for (const placed of listOperations(document)) {
        if (placed.method === "DELETE" || placed.path.endsWith("/settle")) continue
        const by = yield* caller(placed)
        const path = toPath(placed, by)
        const call = (overrides: Partial<Call>) =>
          web.call({ method: placed.method, path, token: by.token, ...overrides })
        for (const query of queries) {
          withinBounds(yield* call({ path: `${path}?${query}` }), `${path}: a query`)
        }
        for (const header of headers) {
          withinBounds(yield* call({ headers: [header] }), `${path}: ${header[0]}`)
        }
        withinBounds(yield* call({ token: long }), `${path}: a long key`)
        withinBounds(yield* call({ path: `${path}/${long}` }), `${path}: a long path`)
      }
    }),
  )

  it.effect("a version 1 form has at most 1,000 entries", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const { credentials } = yield* aClient()
      const { api_key, client_id } = credentials
      const max = sharedLimits.formEntries.whole
      const entries = (count: number) => [
        ["client_id", String(client_id)] as const,
        ["api_key", api_key] as const,
        ...Array.from({ length: count - 2 }, () => ["u", "1"] as const),
      ]
      const statuses: Array<number> = []
      for (const count of [max, max + 1]) {
        const kinds: ReadonlyArray<Partial<Call>> = [
          {
            headers: [["content-type", "application/x-www-form-urlencoded"]],
            body: new URLSearchParams(
              entries(count).map(([name, value]): [string, string] => [name, value]),
            ).toString(),
          },
          {
            headers: [multipart],
            body: form(
              entries(count).map(([name, value]) => ({ name, fileName: null, bytes: value })),
            ),
          },
        ]
        for (const kind of kinds) {
          const answer = yield* web.call({ method: "POST", path: "/api/v1/me/", ...kind })
          statuses.push(answer.status)
        }
      }
      assert.deepStrictEqual(statuses, [200, 200, 413, 413])
    }),
  )

  it.effect("a query of version 2 has at most 1,000 parameters", () =>
    Effect.gen(function* () {
      const { web } = yield* HttpTestClients
      const { workspace } = yield* aListener()
      const { key } = yield* aKey(workspace)
      const query = Array.from({ length: 1001 }, (_, at) => `u${at}`).join("&")
      const answer = yield* web.call({ path: `/api/v2/messages?${query}`, token: key })
      assert.deepStrictEqual(
        [answer.status, errorBody(answer).code, errorBody(answer).message],
        [400, "validation_failed", "The query string has more than 1000 parameters."],
      )
    }),
  )
})
