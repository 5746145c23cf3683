import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"
import { aSender, aText, expectBody, operate } from "./Records.ts"
import type { MessageBody, PageBody } from "./Records.ts"

/** Everything that a server writes to a connection that sent these bytes. */
const raw = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes))
    let text = ""
    socket.on("data", (chunk) => (text += chunk.toString()))
    socket.on("close", () => resolve(text))
    socket.on("error", reject)
  })

layer(layerService())("methods and paths", (it) => {
  it.effect("HEAD answers as GET without a body", () =>
    Effect.gen(function* () {
      const { socket, web } = yield* HttpTestClients
      const { token } = yield* aSender()
      for (const client of [socket, web]) {
        for (const path of ["/api/v2/me", "/api/v2/messages", "/api/v2/messages/7", "/nothing"]) {
          const get = yield* client.call({ path, token })
          const head = yield* client.call({ path, token, method: "HEAD" })
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
        const { socket } = yield* HttpTestClients
        const answer = yield* socket.call({ method, path })
        assert.strictEqual(answer.status, 405)
        assert.strictEqual(answer.headers["allow"], allow)
      }),
    )
  }

  it.effect("tolerates one trailing slash", () =>
    Effect.gen(function* () {
      const { socket, web } = yield* HttpTestClients
      const { token } = yield* aSender()
      for (const client of [socket, web]) {
        const sent = yield* client.call({
          method: "POST",
          path: "/api/v2/messages/",
          token,
          json: aText,
        })
        const { id } = expectBody<MessageBody>(sent, 202)
        for (const [path, status] of [
          [`/api/v2/messages/${id}/`, 200],
          ["/api/v2/messages/?limit=1", 200],
          [`/api/v2/messages/${id}//`, 404],
          ["/api/v2//messages", 404],
        ] as const) {
          assert.strictEqual((yield* client.call({ path, token })).status, status, path)
        }
      }
    }),
  )

  const odd = [
    "/api/v2/ME",
    "/API/v2/me",
    "/api/v2",
    "/api/v1x/me",
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
        const { socket } = yield* HttpTestClients
        const answer = yield* socket.call({ path })
        assert.strictEqual(answer.status, 404)
        assert.strictEqual(errorBody(answer).code, "not_found")
      }),
    )
  }

  for (const id of ["0", "-1", "1.5", "abc", "%31", "+1", "01", "9".repeat(16), "9".repeat(400)]) {
    it.effect(`${id.slice(0, 20)} in a path is an unknown id`, () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        const { token } = yield* aSender()
        for (const method of ["GET", "DELETE"]) {
          const answer = yield* socket.call({ method, path: `/api/v2/messages/${id}`, token })
          assert.strictEqual(answer.status, 404)
          assert.strictEqual(errorBody(answer).code, "message_not_found")
        }
        const workspace = yield* operate({ path: `/admin/v1/workspaces/${id}` })
        assert.strictEqual(errorBody(workspace).code, "workspace_not_found")
      }),
    )
  }

  it.effect("header names like members of Object.prototype change nothing", () =>
    Effect.gen(function* () {
      const { socket, web } = yield* HttpTestClients
      const { token } = yield* aSender()
      for (const client of [socket, web]) {
        const answer = yield* client.call({
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

  it.effect("an absolute request target counts as its path", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpTestClients
      const answer = yield* Effect.promise(() =>
        raw(port, "GET http://elsewhere.test/health/live HTTP/1.1\r\nhost: x\r\n\r\n"),
      )
      assert.match(answer, /^HTTP\/1\.1 200 /)
    }),
  )

  it.effect("the body of a GET or DELETE is ignored", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token } = yield* aSender()
      const listed = yield* socket.call({
        path: "/api/v2/messages",
        token,
        body: "x".repeat(300_000),
      })
      assert.deepStrictEqual(expectBody<PageBody<MessageBody>>(listed, 200).data, [])
      const gone = yield* socket.call({
        method: "DELETE",
        path: "/api/v2/messages/7",
        token,
        body: "{",
      })
      assert.strictEqual(errorBody(gone).code, "message_not_found")
    }),
  )
})
