/** The socket of an app: it binds before anything else, and closes in good order. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Deferred, Effect, Fiber } from "effect"
import { text } from "effect/http/HttpServerResponse"
import { TestClock } from "effect/testing"
import { Agent, request } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { listen } from "../src/HttpListener.ts"

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A client that keeps its connection for the next request, until the scope closes. */
const aClient = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true, maxSockets: 1 })),
    (agent) => Effect.sync(() => agent.destroy()),
  ),
  (agent) => (url: string) =>
    Effect.callback<Answer, Error>((resume) => {
      const requested = request(url, { agent }, (response) => {
        let body = ""
        response.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk
        })
        response.once("end", () => {
          const { headers, statusCode: status = 0 } = response
          resume(Effect.succeed({ status, headers, body }))
        })
        response.once("error", (error) => resume(Effect.fail(error)))
      })
      requested.once("error", (error) => resume(Effect.fail(error)))
      requested.end()
    }),
)

const aSilentConnection = (url: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
        resume(Effect.succeed(socket)),
      )
    }),
    (socket) => Effect.sync(() => socket.destroy()),
  )

const greeting = Effect.succeed(text("hello"))

/** An app with a response that the test decides, and a signal for its first request. */
const anAppUnderWay = Effect.gen(function* () {
  const requested = yield* Deferred.make<void>()
  const answer = yield* Deferred.make<string>()
  const app = Effect.andThen(
    Deferred.succeed(requested, undefined),
    Effect.map(Deferred.await(answer), (words) => text(words)),
  ).pipe(Effect.interruptible)
  return {
    app,
    requests: Deferred.await(requested),
    answer: (words: string) => Deferred.succeed(answer, words),
  }
})

describe("the listener", () => {
  it.effect("makes requests wait while the service is being built", () =>
    Effect.gen(function* () {
      const listener = yield* listen("127.0.0.1", 0)
      const call = yield* aClient
      const early = yield* Effect.forkChild(call(listener.url), { startImmediately: true })
      yield* aSilentConnection(listener.url)
      yield* Effect.forkChild(listener.serve(greeting))
      const { body, status } = yield* Fiber.join(early)
      assert.deepStrictEqual({ body, status }, { body: "hello", status: 200 })
    }),
  )

  it.effect("reports the process as alive, and not ready, while the service is being built", () =>
    Effect.gen(function* () {
      const { url } = yield* listen("127.0.0.1", 0)
      const live = yield* processes.call("GET", `${url}/health/live`)
      assert.deepStrictEqual([live.status, live.body], [200, { status: "ok" }])
      const ready = yield* processes.call("GET", `${url}/health/ready?now`)
      assert.deepStrictEqual([ready.status, ready.body], [503, { status: "unavailable" }])
      const response = yield* Effect.promise(() => fetch(`${url}/health/ready`))
      yield* Effect.promise(() => response.arrayBuffer())
      assert.match(response.headers.get("x-request-id") ?? "", /^req_[0-9A-Za-z]{24}$/)
    }),
  )

  it.effect("answers a request with two Host headers 400, whether or not they agree", () =>
    Effect.gen(function* () {
      const listener = yield* listen("127.0.0.1", 0)
      yield* Effect.forkChild(listener.serve(greeting))
      const getStatus = (headers: ReadonlyArray<string>) =>
        Effect.callback<number | undefined>((resume) => {
          const requesting = request(listener.url, { headers: [...headers], agent: false })
          requesting.on("response", (answer) => {
            answer.resume()
            resume(Effect.succeed(answer.statusCode))
          })
          requesting.end()
        })
      assert.strictEqual(yield* getStatus(["Host", "one.example", "HOST", "two.example"]), 400)
      assert.strictEqual(yield* getStatus(["Host", "one.example", "Host", "one.example"]), 400)
      assert.strictEqual(yield* getStatus(["Host", "one.example", "X-Host", "host"]), 200)
    }),
  )

  it.effect("answers malformed HTTP with the contract's error, repeating nothing of it", () =>
    Effect.gen(function* () {
      const listener = yield* listen("127.0.0.1", 0, { docsUrl: "https://messages.example" })
      yield* Effect.forkChild(listener.serve(greeting))
      for (const [status, code, head] of [
        [400, "validation_failed", "FOO / HTTP/1.1\r\nHost: secret\r\n\r\n"],
        [
          400,
          "validation_failed",
          "POST / HTTP/1.1\r\nHost: secret\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        ],
        [
          400,
          "validation_failed",
          "POST / HTTP/1.1\r\nHost: secret\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        ],
        [400, "validation_failed", "GET / HTTP/1.1\r\nHost: secret\r\nHost: b\r\n\r\n"],
        [400, "validation_failed", "GET / HTTP/1.1\r\nX-Host: secret\r\n\r\n"],
        [413, "request_too_large", `GET /secret HTTP/1.1\r\nA: ${"a".repeat(17_000)}\r\n\r\n`],
      ] as const) {
        const socket = yield* aSilentConnection(listener.url)
        const answer = yield* Effect.callback<string>((resume) => {
          let all = ""
          socket.on("data", (chunk) => (all += chunk.toString()))
          socket.once("error", () => undefined)
          socket.once("close", () => resume(Effect.succeed(all)))
          socket.write(head)
        })
        const [lines = "", body = ""] = answer.split("\r\n\r\n")
        assert.match(lines, new RegExp(`^HTTP/1\\.1 ${status} `), head.slice(0, 30))
        const headers = new Headers(
          lines
            .split("\r\n")
            .slice(1)
            .map((line) => line.split(": ") as [string, string]),
        )
        const { error } = JSON.parse(body) as {
          readonly error: { readonly request_id: string; readonly [field: string]: unknown }
        }
        assert.deepInclude(error, {
          code,
          field: null,
          docs: `https://messages.example/docs/errors#${code}`,
        })
        assert.match(error.request_id, /^req_[0-9A-Za-z]{24}$/)
        assert.strictEqual(headers.get("x-request-id"), error.request_id)
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.notInclude(answer, "secret")
      }
    }),
  )

  it.effect("a stop accepts no new connection, lets answers in flight end, and then is done", () =>
    Effect.gen(function* () {
      const { answer, app, requests } = yield* anAppUnderWay
      const listener = yield* listen("127.0.0.1", 0)
      const serving = yield* Effect.forkChild(listener.serve(app))
      const call = yield* aClient
      const underWay = yield* Effect.forkChild(call(listener.url))
      yield* requests
      const stopping = yield* Effect.forkChild(Fiber.interrupt(serving), { startImmediately: true })
      const other = yield* aClient
      assert.match(String(yield* Effect.flip(other(listener.url))), /ECONNREFUSED/)
      yield* answer("in time")
      const { body, headers } = yield* Fiber.join(underWay)
      assert.strictEqual(body, "in time")
      assert.strictEqual(headers.connection, "close")
      yield* Fiber.join(stopping)
    }),
  )

  it.effect("idle and silent connections do not delay a stop", () =>
    Effect.gen(function* () {
      const listener = yield* listen("127.0.0.1", 0)
      const serving = yield* Effect.forkChild(listener.serve(greeting))
      const call = yield* aClient
      const { headers } = yield* call(listener.url)
      assert.strictEqual(headers.connection, "keep-alive")
      yield* aSilentConnection(listener.url)
      // The clock does not move: anything that waits for a timeout would never end.
      yield* Fiber.interrupt(serving)
    }),
  )

  it.effect("a stop abandons an answer that does not come, in time", () =>
    Effect.gen(function* () {
      const { app, requests } = yield* anAppUnderWay
      const listener = yield* listen("127.0.0.1", 0)
      const serving = yield* Effect.forkChild(listener.serve(app))
      const call = yield* aClient
      const underWay = yield* Effect.forkChild(Effect.flip(call(listener.url)))
      yield* requests
      const stopping = yield* Effect.forkChild(Fiber.interrupt(serving), { startImmediately: true })
      yield* TestClock.adjust("8 seconds")
      assert.isUndefined(stopping.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      assert.match(String(yield* Fiber.join(underWay)), /ECONNRESET|socket hang up/)
    }),
  )

  it.effect("names PORT in one line when the port is taken", () =>
    Effect.gen(function* () {
      const { url } = yield* listen("127.0.0.1", 0)
      const error = yield* Effect.flip(listen("127.0.0.1", Number(new URL(url).port)))
      assert.match(error.message, /^PORT \d+ is in use .+$/)
    }),
  )

  it.effect("names HOST in one line when the address is another machine's", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(listen("192.0.2.1", 0))
      assert.match(error.message, /^HOST 192\.0\.2\.1 .+$/)
    }),
  )

  it.effect("stops listening when the scope closes", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(listen("127.0.0.1", 0))
      const error = yield* Effect.flip(processes.call("GET", url))
      assert.match(error.message, /GET/)
    }),
  )
})
