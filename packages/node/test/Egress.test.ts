/** Fetching: responses, redirects, size and time limits, and TLS. */
import { assert, describe, it } from "@effect/vitest"
import { Egress, EgressError } from "@messaging-service/core"
import { Effect, Fiber } from "effect"
import { certificate } from "./certificate.ts"
import { aServer, aTcpServer, aTlsServer } from "./LoopbackServer.ts"
import { workspaceId, limits, guarded, unguarded, get, reason, answering } from "./Guarded.ts"

describe("fetch", () => {
  it.effect("returns status, headers, address and content of the answer", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        response.writeHead(201, { "X-Kind": "Test", "content-type": "text/plain" })
        response.end(`${request.method} ${request.url} ${request.headers.host}`)
      })
      const answer = yield* get(`${server.origin}/a%20b?c=d#e`)
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers["x-kind"], "Test")
      assert.strictEqual(answer.text, `GET /a%20b?c=d 127.0.0.1:${server.port}`)
      assert.strictEqual(answer.url, `${server.origin}/a%20b?c=d#e`)
    }).pipe(unguarded()),
  )

  it.effect("returns an answer that is not a success too", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.writeHead(503).end("later"))
      const answer = yield* get(server.origin)
      assert.deepStrictEqual([answer.status, answer.text], [503, "later"])
    }).pipe(unguarded()),
  )

  it.effect("passes over interim answers, those of a redirect included", () =>
    Effect.gen(function* () {
      const interim =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX-Step: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
      const server = yield* aTcpServer((socket) =>
        socket.once("data", (request) =>
          socket.end(
            request.toString().startsWith("GET / ")
              ? `${interim}HTTP/1.1 302 Found\r\nLocation: /file\r\nContent-Length: 0\r\n\r\n`
              : `${interim}HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nthe file`,
          ),
        ),
      )
      const answer = yield* get(`${server.origin}/`)
      assert.deepStrictEqual([answer.status, answer.text], [200, "the file"])
      assert.notProperty(answer.headers, "x-step")
    }).pipe(unguarded()),
  )

  it.effect("follows at most the given number of redirects", () =>
    Effect.gen(function* () {
      // Counts down in its path: /2 leads to /1, /1 to /0, and /0 answers.
      const server = yield* aServer((request, response) => {
        const left = Number(request.url?.slice(1))
        if (left === 0) return response.end("arrived")
        const next = left % 2 === 0 ? `/${left - 1}` : `${server.origin}/${left - 1}`
        return response.writeHead([301, 302, 303, 307, 308][left] ?? 302, { location: next }).end()
      })
      const answer = yield* get(`${server.origin}/3`)
      assert.deepStrictEqual([answer.text, answer.url], ["arrived", `${server.origin}/0`])
      assert.strictEqual(yield* reason(get(`${server.origin}/4`)), "redirects")
      assert.strictEqual(yield* reason(get(`${server.origin}/1`, { redirects: 0 })), "redirects")
    }).pipe(unguarded()),
  )

  it.effect("does not follow a redirect without a single target", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        if (request.url === "/none") response.writeHead(302).end("here")
        else if (request.url === "/two") {
          response.writeHead(302, ["location", "/none", "location", "/other"]).end()
        } else response.writeHead(302, { location: "http://" }).end()
      })
      const answer = yield* get(`${server.origin}/none`)
      assert.deepStrictEqual([answer.status, answer.text], [302, "here"])
      assert.strictEqual(yield* reason(get(`${server.origin}/two`)), "redirects")
      assert.strictEqual(yield* reason(get(`${server.origin}/broken`)), "redirects")
    }).pipe(unguarded()),
  )

  it.effect(
    "calls no port of another protocol, not even by redirect, whatever else is allowed",
    () =>
      Effect.gen(function* () {
        const server = yield* aServer((_, response) =>
          response.writeHead(302, { location: "http://127.0.0.1:6667/" }).end(),
        )
        assert.strictEqual(yield* reason(get("http://127.0.0.1:6667/")), "blocked_address")
        assert.strictEqual(yield* reason(get(server.origin)), "blocked_address")
        const request = { workspaceId, headers: {}, body: "", allowHttp: true }
        const times = { maximumBytes: 100, timeoutMillis: 10_000, connectTimeoutMillis: 5000 }
        const posting = Egress.use((egress) => egress.post("http://127.0.0.1:25/", request, times))
        assert.strictEqual(yield* reason(posting), "blocked_address")
      }).pipe(unguarded()),
  )

  it.effect("accepts unescaped letters in a redirect's address", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        if (request.url === "/") {
          response.writeHead(302, { location: Buffer.from("/größe", "utf8").toString("latin1") })
          response.end()
        } else response.end(decodeURIComponent(request.url ?? ""))
      })
      assert.strictEqual((yield* get(server.origin)).text, "/größe")
    }).pipe(unguarded()),
  )

  it.effect("reads a body that just fits whole", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.end("x".repeat(200_000)))
      const answer = yield* get(server.origin, { maximumBytes: 200_000 })
      assert.strictEqual(answer.text.length, 200_000)
    }).pipe(unguarded()),
  )

  it.effect("does not read a body that declares itself too large", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeHead(200, { "content-length": "101" }).flushHeaders()
      })
      assert.strictEqual(yield* reason(get(server.origin, { maximumBytes: 100 })), "too_large")
    }).pipe(unguarded()),
  )

  it.effect("cuts off a body that turns out too large, however long it is", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        const more = () => {
          while (!response.destroyed && response.write("x".repeat(10_000)));
        }
        response.on("drain", more)
        more()
      })
      assert.strictEqual(yield* reason(get(server.origin)), "too_large")
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("an answer that does not begin in time is a timeout", () =>
    Effect.gen(function* () {
      const server = yield* aServer(() => undefined)
      assert.strictEqual(yield* reason(get(server.origin, { timeoutMillis: 30 })), "timeout")
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("an answer that does not end in time is a timeout, redirects included", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        if (request.url === "/") response.writeHead(302, { location: "/slow" }).end()
        else response.write("the beginning")
      })
      assert.strictEqual(yield* reason(get(server.origin, { timeoutMillis: 60 })), "timeout")
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("connecting has a shorter timeout of its own, the TLS handshake included", () =>
    Effect.gen(function* () {
      const server = yield* aTcpServer((socket) => socket.resume())
      assert.strictEqual(yield* reason(get(`https://127.0.0.1:${server.port}/`)), "timeout")
      yield* server.allClosed
    }).pipe(unguarded({ connectTimeoutMillis: 30 })),
  )

  it.effect("a resolver that does not answer in time is a timeout", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(get("https://media.example/")), "timeout")
    }).pipe(guarded({ resolve: () => Effect.never, connectTimeoutMillis: 30 })),
  )

  it.effect("a port without a listener is a failed connection", () =>
    Effect.gen(function* () {
      const { origin } = yield* Effect.scoped(aTcpServer(() => undefined))
      assert.strictEqual(yield* reason(get(origin)), "connection")
    }).pipe(unguarded()),
  )

  it.effect("an answer that is not HTTP, or breaks off, is a failed connection", () =>
    Effect.gen(function* () {
      const nonsense = yield* aTcpServer((socket) => socket.end("SSH-2.0-nonsense\r\n\r\n"))
      assert.strictEqual(yield* reason(get(nonsense.origin)), "connection")
      const silent = yield* aTcpServer((socket) => socket.end())
      assert.strictEqual(yield* reason(get(silent.origin)), "connection")
      const torn = yield* aTcpServer((socket) =>
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it"),
      )
      assert.strictEqual(yield* reason(get(torn.origin)), "connection")
      // It tried no second connection behind the caller's back.
      assert.deepStrictEqual(
        [nonsense.connections(), silent.connections(), torn.connections()],
        [1, 1, 1],
      )
    }).pipe(unguarded()),
  )

  it.effect("a name that does not resolve is dns", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(get("https://media.example/")), "dns")
    }).pipe(guarded({ resolve: () => Effect.fail(new EgressError({ reason: "dns" })) })),
  )

  it.effect("a name without addresses is dns", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(get("https://media.example/")), "dns")
    }).pipe(guarded(answering([]))),
  )

  it.effect("the connection closes with the scope, read or not", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.write("the beginning"))
      const egress = yield* Egress
      yield* Effect.scoped(egress.fetch(server.origin, limits, workspaceId))
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("interrupting a call closes its connection", () =>
    Effect.gen(function* () {
      const request = Promise.withResolvers<void>()
      const server = yield* aServer(() => request.resolve())
      const fiber = yield* Effect.forkChild(get(server.origin))
      yield* Effect.promise(() => request.promise)
      yield* Fiber.interrupt(fiber)
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("ignores proxies from the environment", () =>
    Effect.gen(function* () {
      const proxy = yield* aServer((_, response) => response.end("proxy"))
      const names = ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"]
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const name of names) process.env[name] = proxy.origin
        }),
        () =>
          Effect.sync(() => {
            for (const name of names) delete process.env[name]
          }),
      )
      const server = yield* aServer((_, response) => response.end("server"))
      assert.strictEqual((yield* get(server.origin)).text, "server")
      assert.strictEqual(proxy.connections(), 0)
    }).pipe(unguarded()),
  )
})

describe("TLS", () => {
  const toLoopback = { resolve: answering(["127.0.0.1"]).resolve }
  const trusting = { ...toLoopback, certificateAuthorities: [certificate] }

  it.effect(
    "accepts a trusted certificate for the requested name, and sends the name in the handshake",
    () =>
      Effect.gen(function* () {
        const names: Array<string> = []
        const server = yield* aTlsServer(
          (request, response) => response.end(request.headers.host),
          (name) => names.push(name),
        )
        const answer = yield* get(`https://media.example:${server.port}/`)
        assert.strictEqual(answer.text, `media.example:${server.port}`)
        assert.deepStrictEqual(names, ["media.example"])
      }).pipe(unguarded(trusting)),
  )

  it.effect("refuses a certificate without a trusted issuer: tls", () =>
    Effect.gen(function* () {
      const server = yield* aTlsServer((_, response) => response.end("secret"))
      const url = `https://media.example:${server.port}/`
      assert.strictEqual(yield* reason(get(url)), "tls")
    }).pipe(unguarded(toLoopback)),
  )

  it.effect("the environment cannot turn verification off", () =>
    Effect.gen(function* () {
      const server = yield* aTlsServer((_, response) => response.end("secret"))
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"
        }),
        () => Effect.sync(() => delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]),
      )
      const url = `https://media.example:${server.port}/`
      assert.strictEqual(yield* reason(get(url)), "tls")
    }).pipe(unguarded(toLoopback)),
  )

  it.effect("refuses a certificate for another name: tls", () =>
    Effect.gen(function* () {
      const server = yield* aTlsServer((_, response) => response.end("secret"))
      assert.strictEqual(yield* reason(get(`https://other.example:${server.port}/`)), "tls")
      assert.strictEqual(yield* reason(get(server.origin)), "tls")
    }).pipe(unguarded(trusting)),
  )

  it.effect("refuses a server that does not speak TLS: tls", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.end("secret"))
      assert.strictEqual(yield* reason(get(`https://127.0.0.1:${server.port}/`)), "tls")
    }).pipe(unguarded()),
  )

  it.effect("a link may lead from https to http", () =>
    Effect.gen(function* () {
      const plain = yield* aServer((_, response) => response.end("plain"))
      const server = yield* aTlsServer((_, response) => {
        response.writeHead(302, { location: plain.origin }).end()
      })
      assert.strictEqual((yield* get(`https://media.example:${server.port}/`)).text, "plain")
    }).pipe(unguarded(trusting)),
  )
})
