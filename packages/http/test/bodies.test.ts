import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import type { Call } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"
import { aSender, aText } from "./Records.ts"

const path = "/api/v2/messages"
const limit = 1_048_576
const jsonType = ["content-type", "application/json"] as const

const utf8 = new TextEncoder()

/** A valid body padded with white space to that many bytes. */
const padded = (size: number): string => JSON.stringify(aText).padEnd(size, " ")

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

interface Case {
  readonly what: string
  readonly call: Partial<Call>
  readonly status: number
  /** Null for an accepted message. */
  readonly code: string | null
  readonly field?: string
}

const body = (what: string, text: string | Uint8Array, code: string, field?: string): Case => ({
  what,
  call: { headers: [jsonType], body: text },
  status: 400,
  code,
  ...(field === undefined ? {} : { field }),
})

const contentType = (value: string | undefined, code: string | null): Case => ({
  what: `content type ${value ?? "missing"}`,
  call: {
    headers: value === undefined ? [] : [["content-type", value]],
    body: JSON.stringify(aText),
  },
  status: code === null ? 202 : 415,
  code,
})

const cases: ReadonlyArray<Case> = [
  contentType("application/json", null),
  contentType("Application/JSON; Charset=UTF-8", null),
  contentType("application/json; version=1", null),
  contentType(undefined, "unsupported_content_type"),
  contentType("application/json; charset=iso-8859-1", "unsupported_content_type"),
  contentType("text/plain", "unsupported_content_type"),
  contentType("application/x-www-form-urlencoded", "unsupported_content_type"),
  contentType("multipart/form-data; boundary=x", "unsupported_content_type"),
  {
    what: "a compressed body",
    call: { headers: [jsonType, ["content-encoding", "gzip"]], body: JSON.stringify(aText) },
    status: 415,
    code: "unsupported_content_type",
  },
  {
    what: "an identity encoding",
    call: { headers: [jsonType, ["content-encoding", "identity"]], body: JSON.stringify(aText) },
    status: 202,
    code: null,
  },
  {
    what: "exactly 1 MiB",
    call: { headers: [jsonType], body: padded(limit) },
    status: 202,
    code: null,
  },
  {
    what: "exactly 1 MiB without a declared length",
    call: { headers: [jsonType], body: padded(limit), chunked: true },
    status: 202,
    code: null,
  },
  {
    what: "a byte more than 1 MiB",
    call: { headers: [jsonType], body: padded(limit + 1) },
    status: 413,
    code: "request_too_large",
  },
  {
    what: "a byte more than 1 MiB without a declared length",
    call: { headers: [jsonType], body: padded(limit + 1), chunked: true },
    status: 413,
    code: "request_too_large",
  },
  {
    what: "a small body without a declared length",
    call: { headers: [jsonType], body: padded(100), chunked: true },
    status: 202,
    code: null,
  },
  {
    what: "a byte order mark",
    call: { headers: [jsonType], body: `\uFEFF${JSON.stringify(aText)}` },
    status: 202,
    code: null,
  },
  body("no body", "", "invalid_json"),
  body("white space", " \n", "invalid_json"),
  body("half an object", '{"to":', "invalid_json"),
  body("two values", "{}{}", "invalid_json"),
  body("a comment", "{} // nothing", "invalid_json"),
  body("a byte that is not UTF-8", utf8.encode('{"a":"').map((byte, at) => (at === 5 ? 0xff : byte)), "invalid_json"), // prettier-ignore
  body("UTF-16", new Uint8Array(Buffer.from(JSON.stringify(aText), "utf16le")), "invalid_json"),
  body("a duplicate key", '{"text":"a","text":"b"}', "invalid_json"),
  body("a duplicate key deep inside", '{"to":{"phone":"a","phone":"b"}}', "invalid_json"),
  body("a lone surrogate", '{"text":"\\ud800"}', "invalid_json"),
  body("a NUL", '{"text":"\\u0000"}', "invalid_json"),
  body("33 levels", nested(33), "invalid_json"),
  body("32 levels", nested(32), "validation_failed"),
  body("a hundred thousand levels", nested(100_000), "invalid_json"),
  body("10,000 values", `[${"0,".repeat(9_999)}0]`, "validation_failed"),
  {
    what: "10,000 values and something behind them",
    call: { headers: [jsonType], body: `[${"0,".repeat(10_000)}?` },
    status: 413,
    code: "request_too_large",
  },
  body("a list", "[]", "validation_failed"),
  body("null", "null", "validation_failed"),
  body("a string", '"{}"', "validation_failed"),
  body("an empty object", "{}", "validation_failed", "to"),
  body(
    "__proto__",
    JSON.stringify(aText).replace("{", '{"__proto__":{"text":"x"},'),
    "validation_failed",
    "__proto__",
  ),
  body(
    "constructor",
    JSON.stringify({ ...aText, constructor: 1 }),
    "validation_failed",
    "constructor",
  ),
]

layer(layerService())("a JSON body", (it) => {
  for (const { what, call, status, code, field } of cases) {
    for (const name of ["socket", "web"] as const) {
      it.effect(`${what} is ${code ?? "accepted"} over the ${name}`, () =>
        Effect.gen(function* () {
          const { [name]: client } = yield* HttpTestClients
          const { token } = yield* aSender()
          const answer = yield* client.call({ method: "POST", path, token, ...call })
          assert.strictEqual(answer.status, status, answer.text)
          if (code !== null) assert.strictEqual(errorBody(answer).code, code)
          if (field !== undefined) assert.strictEqual(errorBody(answer).field, field)
        }),
      )
    }
  }

  it.effect("a POST without any body is invalid_json", () =>
    Effect.gen(function* () {
      const { socket, web } = yield* HttpTestClients
      const { token } = yield* aSender()
      for (const client of [socket, web]) {
        const answer = yield* client.call({ method: "POST", path, token, headers: [jsonType] })
        assert.strictEqual(errorBody(answer).code, "invalid_json")
      }
    }),
  )

  it.effect("the error gives the position of the fault and repeats nothing of the body", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      const answer = yield* socket.call({
        method: "POST",
        path,
        token,
        headers: [jsonType],
        body: '{"text": secret}',
      })
      assert.match(errorBody(answer).message, /position 9/)
      assert.notInclude(answer.text, "secret")
    }),
  )
})

interface Conversation {
  readonly text: string
  /** Bytes of the body that the connection accepted. */
  readonly used: number
}

/** Sends a request's head and then its body in chunks as long as the server accepts them. */
const pour = (port: number, head: string, chunk: string, chunks: number): Promise<Conversation> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    let text = ""
    let sent = 0
    const push = () => {
      while (sent < chunks && !socket.destroyed && socket.writable) {
        sent++
        if (!socket.write(chunk)) {
          socket.once("drain", push)
          return
        }
      }
    }
    socket.on("connect", () => {
      socket.write(head)
      push()
    })
    socket.on("data", (data) => (text += data.toString()))
    // A server that has answered and stops reading may reset the remainder.
    socket.on("error", () => undefined)
    socket.on("close", () => resolve({ text, used: sent * chunk.length }))
  })

const head = (token: string, ...headers: ReadonlyArray<string>): string =>
  [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/json",
    `authorization: Bearer ${token}`,
    ...headers,
    "",
    "",
  ].join("\r\n")

const lump = "x".repeat(65_536)
const encodeChunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

layer(layerService())("an endless body", (it) => {
  it.effect("is answered once it is too large, and then no longer read", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpTestClients
      const { token } = yield* aSender()
      const { text, used } = yield* Effect.promise(() =>
        pour(port, head(token, "transfer-encoding: chunked"), encodeChunk(lump), 100_000),
      )
      assert.match(text, /^HTTP\/1\.1 413 /)
      assert.include(text, "request_too_large")
      // The system's buffers accept more than the server reads.
      assert.isBelow(used, 64 * 1024 * 1024)
    }),
  )

  it.effect("is answered before it is read when its declared length is too large", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpTestClients
      const { token } = yield* aSender()
      const { text, used } = yield* Effect.promise(() =>
        pour(port, head(token, "content-length: 10000000000"), "", 0),
      )
      assert.match(text, /^HTTP\/1\.1 413 /)
      assert.match(text, /^connection: close/im)
      assert.strictEqual(used, 0)
    }),
  )

  it.effect("a client that waits for 100 Continue gets it", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpTestClients
      const { token } = yield* aSender()
      const json = JSON.stringify(aText)
      const { text } = yield* Effect.promise(() =>
        pour(
          port,
          head(
            token,
            `content-length: ${json.length}`,
            "expect: 100-continue",
            "connection: close",
          ),
          json,
          1,
        ),
      )
      assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
    }),
  )

  it.effect("a client that asks for an upgrade is answered as usual", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpTestClients
      const { token } = yield* aSender()
      const json = JSON.stringify(aText)
      const { text } = yield* Effect.promise(() =>
        pour(
          port,
          head(
            token,
            `content-length: ${json.length}`,
            "connection: Upgrade, HTTP2-Settings",
            "upgrade: h2c",
            "http2-settings: AAMAAABkAAQAoAAAAAIAAAAA",
          ),
          json,
          1,
        ),
      )
      assert.match(text, /^HTTP\/1\.1 202 /)
    }),
  )
})
