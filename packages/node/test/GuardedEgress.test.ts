import { assert, describe, it } from "@effect/vitest"
import { Egress, EgressError, OutboundRule } from "@messaging-service/core/ports"
import type { FetchLimits, WorkspaceId } from "@messaging-service/core/ports"
import { Effect, Fiber, Layer, Stream } from "effect"
import { connect, isIP } from "node:net"
import type { TcpNetConnectOpts } from "node:net"
import { layerEgress } from "../src/GuardedEgress.ts"
import type { EgressOptions } from "../src/GuardedEgress.ts"
import type { Resolver } from "../src/GuardedConnection.ts"
import { realTimeLayer } from "../src/NodeServices.ts"
import { certificate } from "./certificate.ts"
import { aServer, aTcpServer, aTlsServer } from "./LoopbackServer.ts"

const workspaceId = 1 as WorkspaceId

const limits: FetchLimits = { maximumBytes: 1_000_000, timeoutMillis: 10_000, redirects: 3 }

const withRule = (allowPrivate: boolean, options: EgressOptions) =>
  Effect.provide(
    layerEgress(options).pipe(
      Layer.provide([Layer.succeed(OutboundRule, { allowPrivate }), realTimeLayer]),
    ),
  )

/** As in production. */
const guarded = (options: EgressOptions = {}) => withRule(false, options)

/** As with `ALLOW_PRIVATE_TARGETS`. */
const unguarded = (options: EgressOptions = {}) => withRule(true, options)

const get = (url: string, changed: Partial<FetchLimits> = {}) =>
  Effect.gen(function* () {
    const egress = yield* Egress
    const answer = yield* egress.fetch(url, { ...limits, ...changed }, workspaceId)
    const chunks = yield* Stream.runCollect(answer.body)
    return {
      status: answer.status,
      headers: answer.headers,
      url: answer.url,
      text: Buffer.concat(chunks).toString("utf8"),
    }
  }).pipe(Effect.scoped)

/** Why a call got no answer. */
const reason = <A, R>(effect: Effect.Effect<A, EgressError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

/** A resolver with a list of answers: the last one is given for ever. */
const answering = (...answers: ReadonlyArray<ReadonlyArray<string>>) => {
  const asked: Array<string> = []
  const resolve: Resolver = (hostname) =>
    Effect.sync(() => {
      asked.push(hostname)
      return answers[Math.min(asked.length, answers.length) - 1]!
    })
  return { asked, resolve }
}

const publicAddress = "93.184.216.34"

/**
 * Dials `port` on loopback whatever was asked for, and notes which addresses were asked for. With
 * `disguised` the socket claims to be connected to the first of them.
 */
const dialing = (port: number, disguised: boolean) => {
  const dialed: Array<ReadonlyArray<string>> = []
  const dial = (options: TcpNetConnectOpts) => {
    const socket = connect({ host: "127.0.0.1", port })
    const host = options.host ?? ""
    const note = (addresses: ReadonlyArray<string>) => {
      dialed.push(addresses)
      if (disguised) Object.defineProperty(socket, "remoteAddress", { value: addresses[0] })
    }
    if (isIP(host) !== 0) note([host])
    else {
      options.lookup?.(host, { all: true }, (_error, answers) =>
        note(Array.isArray(answers) ? answers.map(({ address }) => address) : [answers]),
      )
    }
    return socket
  }
  return { dialed, dial }
}

const neverDialed: NonNullable<EgressOptions["dial"]> = () => {
  throw new Error("nothing may be dialed here")
}

describe("fetch", () => {
  it.effect("gives status, headers, address and content of the answer", () =>
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

  it.effect("an answer that is no success is an answer all the same", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.writeHead(503).end("later"))
      const answer = yield* get(server.origin)
      assert.deepStrictEqual([answer.status, answer.text], [503, "later"])
    }).pipe(unguarded()),
  )

  it.effect("at most the given number of redirects is followed", () =>
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

  it.effect("a redirect to nowhere in particular is not followed", () =>
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

  it.effect("a redirect's address may hold letters that were not escaped", () =>
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

  it.effect("a body that just fits is read whole", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.end("x".repeat(200_000)))
      const answer = yield* get(server.origin, { maximumBytes: 200_000 })
      assert.strictEqual(answer.text.length, 200_000)
    }).pipe(unguarded()),
  )

  it.effect("a body that says beforehand that it is too large is not read", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeHead(200, { "content-length": "101" }).flushHeaders()
      })
      assert.strictEqual(yield* reason(get(server.origin, { maximumBytes: 100 })), "too_large")
    }).pipe(unguarded()),
  )

  it.effect("a body that turns out too large is cut off, however long it would go on", () =>
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

  it.effect("connecting has a shorter time of its own, the TLS handshake included", () =>
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

  it.effect("what is not HTTP, or breaks off, is a failed connection", () =>
    Effect.gen(function* () {
      const nonsense = yield* aTcpServer((socket) => socket.end("SSH-2.0-nonsense\r\n\r\n"))
      assert.strictEqual(yield* reason(get(nonsense.origin)), "connection")
      const silent = yield* aTcpServer((socket) => socket.end())
      assert.strictEqual(yield* reason(get(silent.origin)), "connection")
      const torn = yield* aTcpServer((socket) =>
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it"),
      )
      assert.strictEqual(yield* reason(get(torn.origin)), "connection")
      // No second connection was tried behind the caller's back.
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
      const asked = Promise.withResolvers<void>()
      const server = yield* aServer(() => asked.resolve())
      const fiber = yield* Effect.forkChild(get(server.origin))
      yield* Effect.promise(() => asked.promise)
      yield* Fiber.interrupt(fiber)
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("a proxy that the environment names is not used", () =>
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

  it.effect("a trusted certificate for the asked name is accepted, and the name is told", () =>
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

  it.effect("a certificate without a trusted issuer is tls", () =>
    Effect.gen(function* () {
      const server = yield* aTlsServer((_, response) => response.end("secret"))
      const url = `https://media.example:${server.port}/`
      assert.strictEqual(yield* reason(get(url)), "tls")
    }).pipe(unguarded(toLoopback)),
  )

  it.effect("verification cannot be turned off by the environment", () =>
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

  it.effect("a certificate for another name is tls", () =>
    Effect.gen(function* () {
      const server = yield* aTlsServer((_, response) => response.end("secret"))
      assert.strictEqual(yield* reason(get(`https://other.example:${server.port}/`)), "tls")
      assert.strictEqual(yield* reason(get(server.origin)), "tls")
    }).pipe(unguarded(trusting)),
  )

  it.effect("a server that does not speak TLS is tls", () =>
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

describe("the guard", () => {
  const spellings = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fd00::1]/",
    "http://localhost/",
    "http://printer/",
    "http://user@media.example/",
    "ftp://media.example/",
    "http://168.63.129.16/",
    "http://media.example:25/",
    "http://media.example:6667/",
  ]
  for (const url of spellings) {
    it.effect(`${url} is blocked before anything is resolved or dialed`, () => {
      const { asked, resolve } = answering([publicAddress])
      return Effect.gen(function* () {
        assert.strictEqual(yield* reason(get(url)), "blocked_address")
        assert.isFalse(yield* Egress.use((egress) => egress.allows(url, workspaceId)))
        assert.deepStrictEqual(asked, [])
      }).pipe(guarded({ resolve, dial: neverDialed }))
    })
  }

  for (const addresses of [
    ["127.0.0.1"],
    ["::1"],
    ["::ffff:10.0.0.1"],
    ["64:ff9b::a00:1"],
    ["fe80::1%eth0"],
    ["not an address"],
    [publicAddress, "192.168.0.1"],
    ["192.168.0.1", publicAddress],
  ]) {
    it.effect(`a name that resolves to ${addresses.join(" and ")} is blocked`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* reason(get("https://media.example/")), "blocked_address")
        const egress = yield* Egress
        assert.isFalse(yield* egress.allows("https://media.example/", workspaceId))
      }).pipe(guarded({ ...answering(addresses), dial: neverDialed })),
    )
  }

  it.effect("a name that changes its mind after the check gets nowhere", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => response.end(request.headers.host))
      const { asked, resolve } = answering([publicAddress], ["127.0.0.1"])
      const { dialed, dial } = dialing(server.port, true)
      const answer = yield* get("http://media.example/").pipe(guarded({ resolve, dial }))
      // Asked once; dialed is the very address that was checked, under the name that was asked for.
      assert.deepStrictEqual(asked, ["media.example"])
      assert.deepStrictEqual(dialed, [[publicAddress]])
      assert.strictEqual(answer.text, "media.example")
    }),
  )

  it.effect("each call resolves and checks anew", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => response.end())
      const { dial } = dialing(server.port, true)
      yield* Effect.gen(function* () {
        yield* get("http://media.example/")
        assert.strictEqual(yield* reason(get("http://media.example/")), "blocked_address")
      }).pipe(guarded({ ...answering([publicAddress], ["127.0.0.1"]), dial }))
      assert.strictEqual(server.connections(), 1)
    }),
  )

  for (const scheme of ["http", "https"]) {
    it.effect(`an ${scheme} connection that really ends on a private address is cut unused`, () =>
      Effect.gen(function* () {
        const received: Array<Buffer> = []
        const server = yield* aTcpServer((socket) =>
          socket.on("data", (data) => received.push(data)),
        )
        const { dial } = dialing(server.port, false)
        const call = get(`${scheme}://media.example/`).pipe(
          guarded({ ...answering([publicAddress]), dial }),
        )
        assert.strictEqual(yield* reason(call), "blocked_address")
        yield* server.allClosed
        assert.deepStrictEqual(received, [])
      }),
    )
  }

  for (const location of [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://[::ffff:127.0.0.1]/",
    "//127.0.0.1/",
    "http://inside.example/",
    "http://user:secret@media.example/",
    "file:///etc/passwd",
    "http://media.example:25/",
  ]) {
    it.effect(`a redirect to ${location} is blocked`, () =>
      Effect.gen(function* () {
        const server = yield* aServer((_, response) => response.writeHead(302, { location }).end())
        const { dialed, dial } = dialing(server.port, true)
        const resolve: Resolver = (name) =>
          Effect.succeed([name === "media.example" ? publicAddress : "127.0.0.1"])
        const call = get("http://media.example/").pipe(guarded({ resolve, dial }))
        assert.strictEqual(yield* reason(call), "blocked_address")
        assert.deepStrictEqual(dialed, [[publicAddress]])
      }),
    )
  }
})

describe("allows", () => {
  const allows = (url: string) => Egress.use((egress) => egress.allows(url, workspaceId))

  it.effect("a name is allowed when all its addresses are public", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("http://media.example/"))
      assert.isTrue(yield* allows("https://media.example:8443/"))
      assert.isTrue(yield* allows("https://93.184.216.34/"))
    }).pipe(guarded(answering([publicAddress, "2606:4700:4700::1111"]))),
  )

  it.effect("a name that does not resolve is allowed here and fails later", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("https://media.example/"))
    }).pipe(guarded({ resolve: () => Effect.fail(new EgressError({ reason: "dns" })) })),
  )

  it.effect("a resolver that hangs delays no call for long", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("https://media.example/"))
    }).pipe(guarded({ resolve: () => Effect.never, connectTimeoutMillis: 30 })),
  )

  it.effect("private targets are allowed where the operator said so", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows("http://127.0.0.1:8080/"))
      assert.isTrue(yield* allows("http://localhost/"))
      assert.isFalse(yield* allows("ftp://127.0.0.1/"))
      assert.isFalse(yield* allows("http://127.0.0.1:25/"))
    }).pipe(unguarded(answering(["127.0.0.1"]))),
  )
})
