/** A check of a proxy: what each answer of the proxy means, and that the connection always ends. */
import { assert, describe, it } from "@effect/vitest"
import { ProxyProbe } from "@messaging-service/core"
import { Effect, Fiber, Redacted } from "effect"
import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { layerProxyProbe } from "../src/index.ts"

/** A server on this machine that answers each piece of bytes by the next step. */
const aServer = (...steps: ReadonlyArray<(said: Buffer) => Uint8Array | string | null>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const open = new Set<Socket>()
      const said: Array<Buffer> = []
      const server = createServer((socket) => {
        const left = [...steps]
        open.add(socket)
        socket.on("error", () => undefined).on("close", () => open.delete(socket))
        socket.on("data", (piece) => {
          said.push(piece)
          const answer = left.shift()?.(piece) ?? null
          if (answer !== null) socket.write(answer)
        })
      })
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
      return { server, open, said, port: (server.address() as AddressInfo).port }
    }),
    ({ open, server }) =>
      Effect.promise(async () => {
        for (const socket of open) socket.destroy()
        await new Promise((resolve) => void server.close(resolve))
      }),
  )

/** Waits until the server sees so many open connections. */
const openCount = ({ open }: { readonly open: ReadonlySet<Socket> }, count: number) =>
  Effect.promise(async () => {
    while (open.size !== count) await new Promise((resolve) => void setImmediate(resolve))
  })

const target = { host: "remote.invalid", port: 443 }

const check = (url: string, platform: "whatsapp" | "telegram" = "whatsapp") =>
  Effect.gen(function* () {
    const { connect } = yield* ProxyProbe
    return yield* connect(platform, Redacted.make(url))
  }).pipe(Effect.provide(layerProxyProbe({ whatsapp: target, telegram: null })))

const bytes = (...all: ReadonlyArray<number>) => Uint8Array.of(...all)

describe("a check of an HTTP proxy", () => {
  it.live.each([
    ["HTTP/1.1 200 Connection established\r\n\r\n", null],
    ["HTTP/1.0 200 OK\r\n\r\n", null],
    [
      "HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
      null,
    ],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 407 No\r\n\r\n", "credentials_refused"],
    ["HTTP/1.1 407 number:p@ss\r\n\r\n", "credentials_refused"],
    ["HTTP/1.1 502 Bad Gateway\r\n\r\n", "target_refused"],
    ["SSH-2.0-server\r\n", "unexpected_answer"],
    ["x".repeat(10_000), "unexpected_answer"],
  ] as const)("takes %j as %j, and ends the connection", ([answer, problem]) =>
    Effect.gen(function* () {
      const proxy = yield* aServer(() => answer)
      const url = `http://number:p%40ss@127.0.0.1:${proxy.port}`
      assert.strictEqual(yield* check(url), problem)
      const [query = ""] = proxy.said.map(String)
      assert.include(query, "CONNECT remote.invalid:443 HTTP/1.1\r\n")
      assert.include(query, `Basic ${Buffer.from("number:p@ss").toString("base64")}\r\n`)
      yield* openCount(proxy, 0)
    }),
  )

  it.live("takes one without TLS as no HTTPS proxy", () =>
    Effect.gen(function* () {
      const proxy = yield* aServer(() => "HTTP/1.1 400 Bad Request\r\n\r\n")
      assert.strictEqual(yield* check(`https://127.0.0.1:${proxy.port}`), "tls")
    }),
  )
})

describe("a check of a SOCKS proxy", () => {
  const right = "socks5://number:p%40ss@127.0.0.1"

  it.live.each([
    ["open", [bytes(5, 0), bytes(5, 0, 0, 1)], null],
    ["open with credentials", [bytes(5, 2), bytes(1, 0), bytes(5, 0, 0, 1)], null],
    ["wrong credentials", [bytes(5, 2), bytes(1, 1)], "credentials_refused"],
    ["no common method", [bytes(5, 255)], "credentials_refused"],
    ["unreachable", [bytes(5, 2), bytes(1, 0), bytes(5, 4, 0, 1)], "target_refused"],
    ["another protocol", [bytes(72, 84, 84, 80)], "unexpected_answer"],
  ] as const)("%s", ([, answers, problem]) =>
    Effect.gen(function* () {
      const proxy = yield* aServer(...answers.map((answer) => () => answer))
      assert.strictEqual(yield* check(`${right}:${proxy.port}`), problem)
      yield* openCount(proxy, 0)
    }),
  )

  it.live("gives its credentials, and the name for the proxy to resolve", () =>
    Effect.gen(function* () {
      const proxy = yield* aServer(
        () => bytes(5, 2),
        () => bytes(1, 0),
        () => bytes(5, 0),
      )
      assert.isNull(yield* check(`${right}:${proxy.port}`))
      const name = Buffer.from(target.host)
      assert.deepStrictEqual(
        proxy.said.map((said) => [...said]),
        [
          [5, 2, 0, 2],
          [1, 6, ...Buffer.from("number"), 4, ...Buffer.from("p@ss")],
          [5, 1, 0, 3, name.length, ...name, 1, 187],
        ],
      )
    }),
  )

  it.live("without credentials offers none, and says when some are wanted", () =>
    Effect.gen(function* () {
      const proxy = yield* aServer(() => bytes(5, 2))
      assert.strictEqual(yield* check(`socks5://127.0.0.1:${proxy.port}`), "credentials_refused")
      assert.deepStrictEqual(Buffer.concat(proxy.said), Buffer.of(5, 1, 0))
    }),
  )
})

describe("a check of a proxy", () => {
  it.live("tells a closed port, and a proxy that breaks off", () =>
    Effect.gen(function* () {
      const closed = yield* Effect.scoped(aServer())
      assert.strictEqual(yield* check(`http://127.0.0.1:${closed.port}`), "connection")
      const proxy = yield* aServer(() => null)
      const checking = yield* Effect.forkChild(check(`http://127.0.0.1:${proxy.port}`))
      yield* openCount(proxy, 1)
      for (const socket of proxy.open) socket.destroy()
      assert.strictEqual(yield* Fiber.join(checking), "connection")
    }),
  )

  it.live("that hangs ends its connection when it is given up", () =>
    Effect.gen(function* () {
      for (const scheme of ["http", "https", "socks5"]) {
        const proxy = yield* aServer()
        const checking = yield* Effect.forkChild(check(`${scheme}://127.0.0.1:${proxy.port}`))
        yield* openCount(proxy, 1)
        yield* Fiber.interrupt(checking)
        yield* openCount(proxy, 0)
      }
    }),
  )

  it.live("connects nowhere for a platform without a remote server", () =>
    Effect.gen(function* () {
      const proxy = yield* aServer()
      assert.strictEqual(yield* check(`http://127.0.0.1:${proxy.port}`, "telegram"), "no_remote")
      assert.deepStrictEqual(proxy.said, [])
    }),
  )
})
