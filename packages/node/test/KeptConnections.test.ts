/** Posts: their outcome, their limits, and their keep-alive connections. */
import { assert, describe, it } from "@effect/vitest"
import { Egress, EgressError, OutboundRule, sharedLimits } from "@messaging-service/core"
import type { PostLimits, PostRequest, WorkspaceId } from "@messaging-service/core"
import { Effect, Fiber, Layer } from "effect"
import { connect, Socket } from "node:net"
import { text } from "node:stream/consumers"
import { interruptEverywhere } from "@messaging-service/testkit"
import { loadUndici, postOverPool } from "../src/Connections.ts"
import { layerEgress } from "../src/Egress.ts"
import type { EgressOptions } from "../src/Egress.ts"
import { realTimeLayer } from "../src/NodeServices.ts"
import { certificate } from "./certificate.ts"
import { aServer, aTcpServer, aTlsServer, closed } from "./LoopbackServer.ts"
import { publicAddress } from "./Guarded.ts"

const workspaceId = 1 as WorkspaceId

const limits: PostLimits = {
  maximumBytes: 1000,
  timeoutMillis: 10_000,
  connectTimeoutMillis: 5000,
}

const withRule = (allowPrivate: boolean, options: EgressOptions) =>
  Effect.provide(
    layerEgress(options).pipe(
      Layer.provide([Layer.succeed(OutboundRule, { allowPrivate }), realTimeLayer]),
    ),
  )

const guarded = (options: EgressOptions = {}) => withRule(false, options)
const unguarded = (options: EgressOptions = {}) => withRule(true, options)

const post = (
  url: string,
  overrides: Partial<PostRequest> & {
    readonly limits?: Partial<PostLimits>
  } = {},
) =>
  Egress.use((egress) =>
    egress.post(
      url,
      {
        workspaceId: overrides.workspaceId ?? workspaceId,
        headers: overrides.headers ?? {},
        body: overrides.body ?? "{}",
        allowHttp: overrides.allowHttp ?? true,
      },
      { ...limits, ...overrides.limits },
    ),
  )

const getStatus = (url: string, input?: Parameters<typeof post>[1]) =>
  Effect.map(post(url, input), ({ status }) => status)

const reason = <A, R>(effect: Effect.Effect<A, EgressError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

/** Head of an answer, as bytes of the wire. */
const head = (status: string, ...fields: ReadonlyArray<string>): string =>
  `HTTP/1.1 ${[status, ...fields].join("\r\n")}\r\n\r\n`

/** Reads a request that ends in `{}`, then writes these pieces, each by itself. */
const answeringInPieces = (pieces: ReadonlyArray<string>) =>
  aTcpServer((socket) => {
    socket.on("data", (bytes) => {
      if (!bytes.toString("latin1").endsWith("{}")) return
      const write = ([piece, ...rest]: ReadonlyArray<string>) => {
        if (piece !== undefined) socket.write(piece, () => setImmediate(() => write(rest)))
      }
      write(pieces)
    })
  })

describe("post", () => {
  const final = head("200 OK", "Content-Length: 2") + "ok"
  const interim = [
    [head("100 Continue")],
    [head("102 Processing")],
    [head("103 Early Hints", "Link: </a.css>; rel=preload")],
    [head("100 Continue", "Date: today", "X-Note: HTTP/1.1 200 OK")],
    [head("100 Continue"), head("100 Continue"), head("102 Processing"), head("103 Early Hints")],
    ["HTTP/1.1 1", "00 Continue\r\nX: y\r\n", "\r", "\n"],
  ]
  it.effect("passes over interim answers, expected or not, and keeps the connection", () =>
    Effect.gen(function* () {
      for (const heads of interim) {
        for (const pieces of [[...heads, final], [heads.join("") + final]]) {
          const server = yield* answeringInPieces(pieces)
          const limits = { storedBytes: 10 }
          for (let call = 0; call < 3; call++) {
            const answer = yield* post(server.origin, { limits })
            assert.strictEqual(answer.status, 200)
            assert.strictEqual(Buffer.from(answer.beginning ?? []).toString(), "ok")
          }
          assert.strictEqual(server.connections(), 1)
        }
      }
    }).pipe(unguarded()),
  )

  it.effect("an interim answer alone is none", () =>
    Effect.gen(function* () {
      const server = yield* aTcpServer((socket) => socket.end(head("100 Continue")))
      assert.strictEqual(yield* reason(post(server.origin)), "connection")
      const silent = yield* answeringInPieces([head("100 Continue")])
      const limits = { timeoutMillis: 60 }
      assert.strictEqual(yield* reason(post(silent.origin, { limits })), "timeout")
      yield* silent.allClosed
    }).pipe(unguarded()),
  )

  it.effect("returns as much of the answer's beginning as it is asked for", () =>
    Effect.gen(function* () {
      const server = yield* aServer((request, response) => {
        if (request.url === "/broken") {
          response.write("begun", () => response.destroy())
        } else {
          response.write("than")
          response.end("ks a lot")
        }
      })
      const beginning = (path: string, storedBytes?: number) =>
        Effect.map(
          post(
            `${server.origin}${path}`,
            storedBytes === undefined ? {} : { limits: { storedBytes } },
          ),
          (answer) => answer.beginning && Buffer.from(answer.beginning).toString(),
        )
      assert.strictEqual(yield* beginning("/", 100), "thanks a lot")
      assert.strictEqual(yield* beginning("/", 6), "thanks")
      assert.strictEqual(yield* beginning("/broken", 100), "begun")
      assert.isUndefined(yield* beginning("/"))
    }).pipe(unguarded()),
  )

  it.effect("sends headers and body unchanged, and returns status and headers of the answer", () =>
    Effect.gen(function* () {
      const received: Array<unknown> = []
      const server = yield* aServer(async (request, response) => {
        const { host, "service-event-id": event, "content-length": length } = request.headers
        received.push([request.method, request.url, host, event, length, await text(request)])
        response.writeHead(201, { "Retry-After": "7" }).end("thanks")
      })
      const answer = yield* post(`${server.origin}/a%20b?c=d#e`, {
        headers: { "service-event-id": "evt_1" },
        body: "Grüße",
      })
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers["retry-after"], "7")
      assert.deepStrictEqual(received, [
        ["POST", "/a%20b?c=d", `127.0.0.1:${server.port}`, "evt_1", "7", "Grüße"],
      ])
    }).pipe(unguarded()),
  )

  it.effect("returns a redirect without following it", () =>
    Effect.gen(function* () {
      let requests = 0
      const server = yield* aServer((request, response) => {
        requests++
        response.writeHead(request.url === "/" ? 307 : 200, { location: "/other" }).end()
      })
      assert.strictEqual(yield* getStatus(server.origin), 307)
      assert.strictEqual(requests, 1)
    }).pipe(unguarded()),
  )

  it.effect("ignores hints before the answer", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeEarlyHints({ link: "</style.css>; rel=preload" })
        response.writeHead(202).end()
      })
      assert.strictEqual(yield* getStatus(server.origin), 202)
    }).pipe(unguarded()),
  )

  it.effect("reads no more of the answer than the limit, however long it is", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        const more = () => {
          while (!response.destroyed && response.write("x".repeat(10_000)));
        }
        response.on("drain", more)
        more()
      })
      assert.strictEqual(yield* getStatus(server.origin), 200)
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("a declared excessive length does not change the status", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeHead(200, { "content-length": "1001" }).flushHeaders()
      })
      assert.strictEqual(yield* getStatus(server.origin), 200)
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("a received status counts, even when the content never ends or breaks off", () =>
    Effect.gen(function* () {
      const endless = yield* aServer((_, response) => response.writeHead(204 + 1).flushHeaders())
      /** A limit that ends before the status is there says nothing: the next one is twice as long. */
      const statusWithin = (timeoutMillis: number): ReturnType<typeof getStatus> =>
        getStatus(endless.origin, { limits: { timeoutMillis } }).pipe(
          Effect.catch((error) =>
            timeoutMillis > 10_000 ? Effect.fail(error) : statusWithin(2 * timeoutMillis),
          ),
        )
      assert.strictEqual(yield* statusWithin(60), 205)
      yield* endless.allClosed
      const torn = yield* aTcpServer((socket) =>
        socket.end("HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nhalf of it"),
      )
      assert.strictEqual(yield* getStatus(torn.origin), 500)
    }).pipe(unguarded()),
  )

  it.effect("an answer that does not begin in time is a timeout, and its connection closes", () =>
    Effect.gen(function* () {
      const server = yield* aServer(() => undefined)
      const call = getStatus(server.origin, { limits: { timeoutMillis: 30 } })
      assert.strictEqual(yield* reason(call), "timeout")
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("connecting has a shorter timeout of its own, the TLS handshake included", () =>
    Effect.gen(function* () {
      const server = yield* aTcpServer((socket) => socket.resume())
      const call = post(`https://127.0.0.1:${server.port}/`, {
        limits: { connectTimeoutMillis: 30 },
      })
      assert.strictEqual(yield* reason(call), "timeout")
      yield* server.allClosed
    }).pipe(unguarded()),
  )

  it.effect("names the reason of a missing answer: dns, tls, connection", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(post("https://nowhere.example/")), "dns")
      const plain = yield* aServer((_, response) => response.end())
      assert.strictEqual(yield* reason(post(`https://127.0.0.1:${plain.port}/`)), "tls")
      const { origin } = yield* Effect.scoped(aTcpServer(() => undefined))
      assert.strictEqual(yield* reason(post(origin)), "connection")
      const torn = yield* aTcpServer((socket) => socket.once("data", () => socket.destroy()))
      assert.strictEqual(yield* reason(post(torn.origin)), "connection")
      assert.strictEqual(torn.connections(), 1)
      const nonsense = yield* aTcpServer((socket) => socket.end("SSH-2.0-nonsense\r\n\r\n"))
      assert.strictEqual(yield* reason(post(nonsense.origin)), "connection")
    }).pipe(unguarded({ resolve: () => Effect.fail(new EgressError({ reason: "dns" })) })),
  )

  it.effect("interrupting a call closes its connection", () =>
    Effect.gen(function* () {
      const request = Promise.withResolvers<void>()
      const server = yield* aServer(() => request.resolve())
      const fiber = yield* Effect.forkChild(post(server.origin))
      yield* Effect.promise(() => request.promise)
      yield* Fiber.interrupt(fiber)
      yield* server.allClosed
    }).pipe(unguarded()),
  )
})

describe("kept connections", () => {
  const ok = () => aServer((_, response) => response.end("ok"))

  it.effect("serve sequential calls over one connection", () =>
    Effect.gen(function* () {
      const server = yield* ok()
      for (let call = 0; call < 5; call++) yield* post(server.origin)
      assert.strictEqual(server.connections(), 1)
    }).pipe(unguarded()),
  )

  it.effect("serve concurrent calls with one each, and later calls reuse them", () =>
    Effect.gen(function* () {
      const waiting: Array<() => void> = []
      const server = yield* aServer((_, response) => {
        waiting.push(() => response.end())
        if (waiting.length === 3) for (const answer of waiting.splice(0)) answer()
      })
      const three = Effect.all(
        Array.from({ length: 3 }, () => post(server.origin)),
        { concurrency: "unbounded" },
      )
      yield* three
      yield* three
      assert.strictEqual(server.connections(), 3)
    }).pipe(unguarded()),
  )

  it.effect("a connection that the remote closes after its answer is not reused", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeHead(200, { connection: "close" }).end()
      })
      for (let call = 0; call < 3; call++) assert.strictEqual(yield* getStatus(server.origin), 200)
      assert.strictEqual(server.connections(), 3)
    }).pipe(unguarded()),
  )

  it.effect("a call on a connection that was dropped meanwhile uses a new one", () => {
    const dialled: Array<Socket> = []
    return Effect.gen(function* () {
      const accepted: Array<Socket> = []
      const server = yield* aTcpServer((socket) => {
        accepted.push(socket)
        socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
      })
      for (let call = 0; call < 4; call++) {
        assert.strictEqual(yield* getStatus(server.origin), 200)
        accepted[call]?.destroy()
        // The close must travel to this side of the connection.
        yield* closed(dialled[call]!)
      }
      assert.strictEqual(server.connections(), 4)
    }).pipe(
      unguarded({
        dial: (options) => {
          const socket = connect(options)
          dialled.push(socket)
          return socket
        },
      }),
    )
  })

  it.effect("a failed call's connection is not reused", () =>
    Effect.gen(function* () {
      let calls = 0
      const server = yield* aServer((_, response) => {
        if (++calls === 2) response.socket?.destroy()
        else response.end()
      })
      assert.strictEqual(yield* getStatus(server.origin), 200)
      assert.strictEqual(yield* reason(post(server.origin)), "connection")
      assert.strictEqual(yield* getStatus(server.origin), 200)
      // One call was one request: a failing call is never repeated behind the caller's back.
      assert.deepStrictEqual([calls, server.connections()], [3, 2])
    }).pipe(unguarded()),
  )

  it.effect("include TLS connections", () =>
    Effect.gen(function* () {
      const server = yield* aTlsServer((_, response) => response.end())
      for (let call = 0; call < 3; call++) yield* post(`https://media.example:${server.port}/`)
      assert.strictEqual(server.connections(), 1)
    }).pipe(
      unguarded({
        resolve: () => Effect.succeed(["127.0.0.1"]),
        certificateAuthorities: [certificate],
      }),
    ),
  )

  it.effect("an answer cannot prolong its connection's time", () =>
    Effect.gen(function* () {
      const server = yield* aServer((_, response) => {
        response.writeHead(200, { "keep-alive": "timeout=100000, max=100000" }).end()
      })
      assert.strictEqual(yield* getStatus(server.origin), 200)
      yield* server.allClosed
    }).pipe(unguarded({ idleMillis: 30 })),
  )

  it.effect("each workspace keeps its own share of them", () =>
    Effect.gen(function* () {
      const { most } = sharedLimits.keptConnections.share
      const waiting: Array<() => void> = []
      let side = 0
      const server = yield* aServer((_, response) => {
        waiting.push(() => response.end())
        if (waiting.length === side) for (const answer of waiting.splice(0)) answer()
      })
      /** So many at once. */
      const postMany = (workspace: number, count: number) =>
        Effect.suspend(() => {
          side = count
          const posts = Array.from({ length: count }, () =>
            post(server.origin, { workspaceId: workspace as WorkspaceId }),
          )
          return Effect.all(posts, { concurrency: "unbounded" })
        })
      yield* postMany(1, most + 5)
      assert.strictEqual(server.connections(), most + 5)
      // All but five were kept. Those that workspace 2 takes over count as its own.
      yield* postMany(2, most)
      assert.strictEqual(server.connections(), most + 5)
      yield* postMany(1, most + 1)
      assert.strictEqual(server.connections(), most + 6)
    }).pipe(unguarded()),
  )

  it.effect("all workspaces together keep the total", () =>
    Effect.gen(function* () {
      const { share, whole } = sharedLimits.keptConnections
      const waiting: Array<() => void> = []
      let side = 0
      const server = yield* aServer((_, response) => {
        waiting.push(() => response.end())
        if (waiting.length === side) for (const answer of waiting.splice(0)) answer()
      })
      /** So many at once, of the minimum of workspaces. */
      const posts = (count: number) =>
        Effect.suspend(() => {
          side = count
          return Effect.forEach(
            Array.from({ length: count }).keys(),
            (at) =>
              post(server.origin, {
                workspaceId: Math.floor(at / share.most) as WorkspaceId,
                limits: { timeoutMillis: 60_000, connectTimeoutMillis: 60_000 },
              }),
            { concurrency: "unbounded", discard: true },
          )
        })
      yield* posts(whole + 5)
      assert.strictEqual(server.connections(), whole + 5)
      yield* posts(whole + 1)
      assert.strictEqual(server.connections(), whole + 6)
    }).pipe(unguarded({ idleMillis: 60_000 })),
  )

  it.effect("all close when the service stops", () =>
    Effect.gen(function* () {
      const server = yield* ok()
      yield* post(server.origin).pipe(unguarded())
      yield* server.allClosed
    }),
  )
})

describe("the guard of posts", () => {
  for (const url of [
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://[::ffff:127.0.0.1]/",
    "https://localhost/",
    "https://user@hook.example/",
    "ftp://hook.example/",
  ]) {
    it.effect(`${url} is blocked_address by its text alone`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* reason(post(url)), "blocked_address")
      }).pipe(guarded({ resolve: () => Effect.die("nothing may be resolved here") })),
    )
  }

  it.effect("plain http is blocked_address where only https is allowed", () =>
    Effect.gen(function* () {
      const call = post("http://hook.example/", { allowHttp: false })
      assert.strictEqual(yield* reason(call), "blocked_address")
    }).pipe(guarded({ resolve: () => Effect.die("nothing may be resolved here") })),
  )

  it.effect("a name that resolves to a private address is blocked_address, at every attempt", () =>
    Effect.gen(function* () {
      for (let attempt = 0; attempt < 2; attempt++) {
        assert.strictEqual(yield* reason(post("https://hook.example/")), "blocked_address")
      }
    }).pipe(guarded({ resolve: () => Effect.succeed([publicAddress, "10.0.0.1"]) })),
  )

  it.effect("a connection that ends on a private address is closed unused", () =>
    Effect.gen(function* () {
      const received: Array<Buffer> = []
      const server = yield* aTcpServer((socket) => socket.on("data", (data) => received.push(data)))
      const call = post("http://hook.example/").pipe(
        guarded({
          resolve: () => Effect.succeed([publicAddress]),
          dial: () => connect({ host: "127.0.0.1", port: server.port }),
        }),
      )
      assert.strictEqual(yield* reason(call), "blocked_address")
      yield* server.allClosed
      assert.deepStrictEqual(received, [])
    }),
  )
})

it.effect("a post that is interrupted anywhere leaves no connection behind", () =>
  Effect.gen(function* () {
    const sockets: Array<Socket> = []
    const connecting = Effect.acquireRelease(
      Effect.sync(() => {
        const socket = new Socket()
        sockets.push(socket)
        return socket
      }),
      (socket) => Effect.sync(() => socket.destroy()),
    )
    const getStored = yield* postOverPool()
    const target = { origin: "http://receiver.example", path: "/" }
    const request = { workspaceId, headers: {}, body: "{}", allowHttp: true }
    yield* loadUndici
    const posted = getStored(target as Parameters<typeof getStored>[0], request, limits, connecting)
    yield* interruptEverywhere(posted, (operation) =>
      Effect.sync(() => {
        const isClosed = sockets.every(({ destroyed }) => destroyed)
        assert.isTrue(isClosed, `interrupted before operation ${operation}`)
      }),
    )
    assert.isNotEmpty(sockets)
  }),
)
