import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Admission, StoreUnavailable } from "@messaging-service/core"
import { Effect, Layer, Logger, References } from "effect"
import { connect } from "node:net"
import { Doors, errorOf } from "./Doors.ts"
import type { Call } from "./Doors.ts"
import { layerService, operatorToken, publicUrl } from "./Service.ts"
import { aKey, aSender, aText, aWorkspace, bodyOf, operate } from "./World.ts"
import type { MessageBody, PageBody } from "./World.ts"

const requestId = /^req_[0-9A-Za-z]{24}$/

/** One request for each status that an answer can have without much ado, with its token's kind. */
const everyKind: ReadonlyArray<readonly [Call, number]> = [
  [{ path: "/health/live" }, 200],
  [{ path: "/health/live", method: "POST" }, 405],
  [{ path: "/" }, 404],
  [{ path: "/api/v2/nothing" }, 404],
  [{ path: "/api/v2/me" }, 401],
  [{ path: "/api/v2/me", method: "PATCH" }, 405],
  [{ path: "/admin/v1/workspaces" }, 401],
  [{ path: "/admin/v1/nothing" }, 404],
  [{ path: "/admin/v1/workspaces", token: operatorToken }, 200],
  [{ path: "/admin/v1/workspaces", token: operatorToken, method: "POST", body: "{}" }, 415],
  [{ path: "/admin/v1/workspaces", token: operatorToken, method: "POST", json: {} }, 400],
  [
    {
      path: "/admin/v1/workspaces",
      token: operatorToken,
      method: "POST",
      headers: [["content-type", "application/json"]],
      body: " ".repeat(1_048_577),
    },
    413,
  ],
]

describe("every answer", () => {
  layer(layerService())((it) => {
    for (const [call, status] of everyKind) {
      const title = `${call.method ?? "GET"} ${call.path} ${status}`
      it.effect(`${title} carries a request id, is JSON and is not stored`, () =>
        Effect.gen(function* () {
          const { socket, web } = yield* Doors
          for (const door of [socket, web]) {
            const answer = yield* door.call(call)
            assert.strictEqual(answer.status, status, answer.text)
            assert.match(answer.headers["x-request-id"]!, requestId)
            assert.strictEqual(answer.headers["cache-control"], "no-store")
            assert.strictEqual(answer.headers["content-type"], "application/json")
            assert.notProperty(answer.headers, "x-client-request-id")
            if (status >= 400) {
              const { code, docs, request_id } = errorOf(answer)
              assert.strictEqual(request_id, answer.headers["x-request-id"])
              assert.strictEqual(docs, `${publicUrl}/docs/errors#${code}`)
            }
          }
        }),
      )
    }

    it.effect("no two answers have the same request id", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const answers = yield* Effect.replicateEffect(socket.call({ path: "/health/live" }), 20)
        assert.strictEqual(new Set(answers.map((each) => each.headers["x-request-id"])).size, 20)
      }),
    )

    for (const [what, given, comesBack] of [
      ["a client's request id", "order-17 / try 2", true],
      ["one of 100 characters", "r".repeat(100), true],
      ["one of 101 characters", "r".repeat(101), false],
      ["an empty one", "", false],
      ["one that is not printable", "a\tb", false],
      ["one that is not ASCII", "é", false],
    ] as const) {
      it.effect(`${what} ${comesBack ? "comes back" : "is ignored"}`, () =>
        Effect.gen(function* () {
          const { socket } = yield* Doors
          for (const path of ["/health/live", "/nothing"]) {
            const answer = yield* socket.call({ path, headers: [["X-Request-Id", given]] })
            assert.strictEqual(answer.headers["x-client-request-id"], comesBack ? given : undefined)
            assert.match(answer.headers["x-request-id"]!, requestId)
          }
        }),
      )
    }
  })
})

describe("the error object", () => {
  layer(layerService())((it) => {
    it.effect("has exactly the contract's fields", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const answer = yield* socket.call({ path: "/api/v2/me" })
        assert.deepStrictEqual(answer.body, {
          error: {
            code: "missing_api_key",
            message: errorOf(answer).message,
            field: null,
            docs: `${publicUrl}/docs/errors#missing_api_key`,
            request_id: answer.headers["x-request-id"],
          },
        })
      }),
    )

    it.effect("several problems: the first is the error, the rest go to errors", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const { token } = yield* aSender()
        const answer = yield* socket.call({
          method: "POST",
          path: "/api/v2/messages",
          token,
          json: { to: { phone: "0155" }, text: " ", send_at: "tomorrow", extra: 1 },
        })
        assert.strictEqual(answer.status, 422)
        const error = errorOf(answer)
        assert.deepInclude(error, { code: "invalid_phone", field: "to.phone" })
        assert.deepStrictEqual(
          error.errors?.map((each) => [Object.keys(each), each.field]),
          [
            [["field", "message"], "text"],
            [["field", "message"], "send_at"],
            [["field", "message"], "extra"],
          ],
        )
      }),
    )

    it.effect("carries the code's details", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const { token } = yield* aSender({ key: { scopes: ["media"] } })
        const answer = yield* socket.call({ path: "/api/v2/messages", token })
        assert.strictEqual(answer.status, 403)
        assert.deepInclude(errorOf(answer), {
          code: "missing_scope",
          required_scope: "messages:read",
        })
      }),
    )

    it.effect("a 401 carries the challenge, for the operator too, and nothing else does", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        for (const [call, status] of everyKind) {
          const answer = yield* socket.call(call)
          assert.strictEqual(
            answer.headers["www-authenticate"],
            status === 401 ? 'Bearer realm="service"' : undefined,
          )
        }
      }),
    )
  })
})

describe("methods and paths", () => {
  layer(layerService())((it) => {
    it.effect("HEAD answers as GET without a body", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* Doors
        const { token } = yield* aSender()
        for (const door of [socket, web]) {
          for (const path of ["/api/v2/me", "/api/v2/messages", "/api/v2/messages/7", "/nothing"]) {
            const get = yield* door.call({ path, token })
            const head = yield* door.call({ path, token, method: "HEAD" })
            assert.strictEqual(head.status, get.status)
            assert.strictEqual(head.text, "")
            assert.strictEqual(head.headers["content-type"], "application/json")
            assert.strictEqual(head.headers["content-length"], get.headers["content-length"])
          }
        }
      }),
    )

    for (const [method, path, allow] of [
      ["OPTIONS", "/api/v2/messages", "GET, HEAD, POST"],
      ["PUT", "/api/v2/messages", "GET, HEAD, POST"],
      ["GET", "/api/v2/messages/batch", "POST"],
      ["DELETE", "/api/v2/messages/batch", "POST"],
      ["HEAD", "/api/v2/messages/batch", "POST"],
      ["POST", "/api/v2/messages/7", "GET, HEAD, DELETE"],
      ["OPTIONS", "/api/v2/me", "GET, HEAD"],
      ["TRACE", "/api/v2/me", "GET, HEAD"],
      ["PROPFIND", "/api/v2/me", "GET, HEAD"],
      ["PUT", "/admin/v1/workspaces/7", "GET, HEAD, PATCH, DELETE"],
      ["OPTIONS", "/health/ready", "GET, HEAD"],
    ] as const) {
      it.effect(`${method} ${path} is 405 and allows ${allow}`, () =>
        Effect.gen(function* () {
          const { socket } = yield* Doors
          const answer = yield* socket.call({ method, path })
          assert.strictEqual(answer.status, 405)
          assert.strictEqual(answer.headers["allow"], allow)
        }),
      )
    }

    it.effect("one trailing slash is tolerated", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* Doors
        const { token } = yield* aSender()
        for (const door of [socket, web]) {
          const sent = yield* door.call({
            method: "POST",
            path: "/api/v2/messages/",
            token,
            json: aText,
          })
          const { id } = bodyOf<MessageBody>(sent, 202)
          for (const [path, status] of [
            [`/api/v2/messages/${id}/`, 200],
            ["/api/v2/messages/?limit=1", 200],
            [`/api/v2/messages/${id}//`, 404],
            ["/api/v2//messages", 404],
          ] as const) {
            assert.strictEqual((yield* door.call({ path, token })).status, status, path)
          }
        }
      }),
    )

    const odd = [
      "/api/v2/ME",
      "/API/v2/me",
      "/api/v2",
      "/api/v2x/me",
      "/api/v3/me",
      "/api/v2/m%65",
      "/api/v2/%",
      "/api/v2/%zz/%00",
      "/api/v2/me;x=1",
      "/api/v2/me#top",
      "/api/v2/__proto__",
      "/api/v2/constructor",
      "/api/v2/../v2/me",
      "//",
      "///api/v2/me",
      "/admin",
      "/admin/v1",
      "/health",
      "/metrics/x",
      "*",
      `/api/v2/${"x".repeat(10_000)}`,
    ]
    for (const path of odd) {
      it.effect(`${path.slice(0, 40)} is 404 not_found`, () =>
        Effect.gen(function* () {
          const { socket } = yield* Doors
          const answer = yield* socket.call({ path })
          assert.strictEqual(answer.status, 404)
          assert.strictEqual(errorOf(answer).code, "not_found")
        }),
      )
    }

    for (const id of [
      "0",
      "-1",
      "1.5",
      "abc",
      "%31",
      "+1",
      "01",
      "9".repeat(16),
      "9".repeat(400),
    ]) {
      it.effect(`${id.slice(0, 20)} in a path is an unknown id`, () =>
        Effect.gen(function* () {
          const { socket } = yield* Doors
          const { token } = yield* aSender()
          for (const method of ["GET", "DELETE"]) {
            const answer = yield* socket.call({ method, path: `/api/v2/messages/${id}`, token })
            assert.strictEqual(answer.status, 404)
            assert.strictEqual(errorOf(answer).code, "message_not_found")
          }
          const workspace = yield* operate({ path: `/admin/v1/workspaces/${id}` })
          assert.strictEqual(errorOf(workspace).code, "workspace_not_found")
        }),
      )
    }

    it.effect("header names that are names of object members change nothing", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* Doors
        const { token } = yield* aSender()
        for (const door of [socket, web]) {
          const answer = yield* door.call({
            path: "/api/v2/me",
            token,
            headers: ["__proto__", "constructor", "toString", "hasOwnProperty"].map(
              (name) => [name, "x"] as const,
            ),
          })
          assert.strictEqual(answer.status, 200)
        }
      }),
    )

    it.effect("an absolute request target is its path", () =>
      Effect.gen(function* () {
        const { port } = yield* Doors
        const answer = yield* Effect.promise(() =>
          raw(port, "GET http://elsewhere.test/health/live HTTP/1.1\r\nhost: x\r\n\r\n"),
        )
        assert.match(answer, /^HTTP\/1\.1 200 /)
      }),
    )

    it.effect("the body of a GET or DELETE is ignored", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const { token } = yield* aSender()
        const listed = yield* socket.call({
          path: "/api/v2/messages",
          token,
          body: "x".repeat(300_000),
        })
        assert.deepStrictEqual(bodyOf<PageBody<MessageBody>>(listed, 200).data, [])
        const gone = yield* socket.call({
          method: "DELETE",
          path: "/api/v2/messages/7",
          token,
          body: "{",
        })
        assert.strictEqual(errorOf(gone).code, "message_not_found")
      }),
    )
  })
})

describe("credentials", () => {
  layer(layerService())((it) => {
    const ask = (headers: ReadonlyArray<readonly [string, string]>) =>
      Effect.flatMap(Doors, ({ socket }) => socket.call({ path: "/api/v2/me", headers }))

    it.effect("a bearer header in any case of its scheme", () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        for (const scheme of ["Bearer", "bearer", "BEARER"]) {
          assert.strictEqual((yield* ask([["Authorization", `${scheme} ${token}`]])).status, 200)
        }
      }),
    )

    for (const value of ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "svc_live_x"]) {
      it.effect(`${JSON.stringify(value)} is missing_api_key`, () =>
        Effect.gen(function* () {
          const answer = yield* ask([["authorization", value]])
          assert.strictEqual(answer.status, 401)
          assert.strictEqual(errorOf(answer).code, "missing_api_key")
        }),
      )
    }

    it.effect("40 characters of digits and a to f are a version 1 key", () =>
      Effect.gen(function* () {
        const answer = yield* ask([["authorization", `Bearer ${"0a".repeat(20)}`]])
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(errorOf(answer).code, "v1_key_on_v2")
      }),
    )

    it.effect("an Authorization sent twice is no key, over either door", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* Doors
        const { token } = yield* aSender()
        for (const door of [socket, web]) {
          for (const second of ["Bearer another", `Bearer ${token}`]) {
            const answer = yield* door.call({
              path: "/api/v2/me",
              token,
              headers: [["authorization", second]],
            })
            assert.strictEqual(errorOf(answer).code, "invalid_api_key")
          }
        }
      }),
    )
  })

  layer(layerService())((it) => {
    it.effect("a key shows the address of its last use", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* Doors
        const workspace = yield* aWorkspace()
        const { key } = yield* aKey(workspace)
        const lastUse = Effect.map(
          operate({ path: `/admin/v1/workspaces/${workspace.id}/keys` }),
          (answer) =>
            bodyOf<PageBody<{ readonly last_used_ip: string | null }>>(answer, 200).data[0]!
              .last_used_ip,
        )
        assert.strictEqual(yield* lastUse, null)
        yield* socket.call({ path: "/api/v2/me", token: key })
        assert.strictEqual(yield* lastUse, "127.0.0.1")
        yield* web.call({ path: "/api/v2/me", token: key })
        assert.strictEqual(yield* lastUse, "192.0.2.1")
      }),
    )
  })
})

/** Everything that a server writes to a connection that was sent these bytes. */
const raw = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes))
    let text = ""
    socket.on("data", (chunk) => (text += chunk.toString()))
    socket.on("close", () => resolve(text))
    socket.on("error", reject)
  })

/** What was logged, with its annotations. */
interface Line {
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly text: string
}

const capturing = (into: Array<Line>) =>
  Layer.merge(
    Logger.layer([
      Logger.make(({ logLevel, fiber, message, cause }) => {
        into.push({
          level: logLevel,
          annotations: { ...fiber.getRef(References.CurrentLogAnnotations) },
          text: `${String(message)} ${String(cause)}`,
        })
      }),
    ]),
    Layer.succeed(References.MinimumLogLevel, "Debug"),
  )

const secret = "svc_live_secret"

/** An admission whose store is gone, or which has a bug, by the token it is asked with. */
const brokenAdmission = Layer.effect(
  Admission,
  Effect.map(Admission, (admission) => {
    const broken = Effect.suspend(() =>
      Effect.fail(new StoreUnavailable({ operation: "admit", cause: "connection refused" })),
    )
    return Admission.of({
      ...admission,
      admitV2: (authorization) =>
        authorization?.includes("defect") === true ? Effect.die(new Error("a bug")) : broken,
      noteV2: () => broken,
    })
  }),
)

describe("a fault", () => {
  const lines: Array<Line> = []
  const broken = layerService({ instead: brokenAdmission }).pipe(Layer.provide(capturing(lines)))

  layer(broken)((it) => {
    for (const what of ["store", "defect"]) {
      it.effect(`of the ${what} is internal_error with the request id and no detail`, () =>
        Effect.gen(function* () {
          const { socket, web } = yield* Doors
          for (const door of [socket, web]) {
            lines.length = 0
            const answer = yield* door.call({
              method: "POST",
              path: "/api/v2/messages?text=private",
              token: `${secret}_${what}`,
              json: aText,
            })
            assert.strictEqual(answer.status, 500)
            assert.deepStrictEqual(Object.keys(errorOf(answer)), [
              "code",
              "message",
              "field",
              "docs",
              "request_id",
            ])
            assert.strictEqual(errorOf(answer).code, "internal_error")
            assert.notMatch(answer.text, /bug|refused|admit/)

            assert.lengthOf(lines, 1)
            const { level, annotations, text } = lines[0]!
            assert.strictEqual(level, "Error")
            const { duration_ms, ...known } = annotations
            assert.isNumber(duration_ms)
            assert.deepStrictEqual(known, {
              request_id: answer.headers["x-request-id"],
              method: "POST",
              path: "/api/v2/messages",
              status: 500,
            })
            assert.match(text, what === "store" ? /did not answer: admit/ : /a bug/)
            assert.notInclude(JSON.stringify(lines), secret)
            assert.notInclude(JSON.stringify(lines), "private")
            assert.notInclude(JSON.stringify(lines), aText.to.phone)
          }
        }),
      )
    }

    it.effect("while counting an unknown path leaves it a 404", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        lines.length = 0
        const answer = yield* socket.call({ path: "/api/v2/nothing", token: secret })
        assert.strictEqual(answer.status, 404)
        assert.deepStrictEqual(
          lines.map(({ level }) => level),
          ["Warn", "Debug"],
        )
      }),
    )

    it.effect("does not touch what needs no key", () =>
      Effect.gen(function* () {
        lines.length = 0
        assert.strictEqual((yield* operate({ path: "/admin/v1/workspaces" })).status, 200)
        const { annotations, level } = lines[0]!
        assert.strictEqual(level, "Debug")
        assert.deepInclude(annotations, { path: "/admin/v1/workspaces", status: 200 })
        assert.notInclude(JSON.stringify(lines), operatorToken)
      }),
    )
  })
})

describe("where it is not wanted", () => {
  layer(layerService({ settings: { operatorToken: null } }))((it) => {
    it.effect("there is no operator API without an operator token", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        for (const token of ["", "null", operatorToken]) {
          const answer = yield* socket.call({ path: "/admin/v1/workspaces", token })
          assert.strictEqual(answer.status, 404)
        }
      }),
    )
  })

  layer(layerService({ settings: { emulator: false } }))((it) => {
    it.effect("there are no emulator controls with live transports", () =>
      Effect.gen(function* () {
        const { socket } = yield* Doors
        const answer = yield* operate({ path: "/admin/v1/simulator/clock" })
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorOf(answer).code, "not_found")
        const unauthorised = yield* socket.call({ path: "/admin/v1/simulator/clock" })
        assert.strictEqual(unauthorised.status, 404)
      }),
    )
  })

  plain.effect("links begin with an origin that may be known only later", () =>
    Effect.gen(function* () {
      const { socket } = yield* Doors
      const answer = yield* socket.call({ path: "/nothing" })
      assert.strictEqual(errorOf(answer).docs, "http://127.0.0.1:1/docs/errors#not_found")
    }).pipe(
      Effect.provide(
        layerService({ settings: { publicUrl: Effect.succeed("http://127.0.0.1:1") } }),
      ),
    ),
  )
})
