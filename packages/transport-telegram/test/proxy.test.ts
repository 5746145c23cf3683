/** An account's connections go through its proxy, with the requested credentials. */
import { assert, it, layer } from "@effect/vitest"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer as createHttpServer } from "node:http"
import { connect, createServer } from "node:net"
import type { AddressInfo, Server, Socket } from "node:net"
import { wayOut } from "../src/Client.ts"
import {
  Proxies,
  aNumber,
  aPerson,
  aText,
  layerWorld,
  layerWorldWith,
  logIn,
  sendNow,
  until,
  untilSo,
} from "./LiveWorld.ts"

interface Proxy {
  readonly port: number
  /** The credentials of each accepted connection. */
  readonly received: ReadonlyArray<string>
}

/** Reads a client's bytes, in pieces of the requested length. */
const reading = (socket: Socket) => async (length: number) => {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null
    if (bytes !== null) return bytes
    await new Promise((resolve) => {
      socket.once("readable", resolve)
    })
  }
}

/** From here on everything passes. */
const join = (client: Socket, host: string, port: number, answer: Uint8Array) => {
  const remote = connect({ host, port }, () => {
    client.write(answer)
    remote.pipe(client)
    client.pipe(remote)
  })
  remote.on("error", () => undefined)
  client.on("close", () => remote.destroy())
  remote.on("close", () => client.destroy())
}

const httpProxy = (letThrough: (credentials: string) => void): Server =>
  createHttpServer().on("connect", ({ headers, url = "" }, client: Socket) => {
    const [, encoded = ""] = (headers["proxy-authorization"] ?? "").split(" ")
    letThrough(Buffer.from(encoded, "base64").toString())
    const [host = "", port] = url.split(":")
    join(client, host, Number(port), Buffer.from("HTTP/1.1 200 OK\r\n\r\n"))
  })

/** RFC 1928, with a name and a password (RFC 1929), to IPv4 addresses. */
const socksProxy = (letThrough: (credentials: string) => void): Server =>
  createServer((client) => {
    const next = reading(client)
    const serve = async () => {
      const [, methods = 0] = await next(2)
      assert.isTrue((await next(methods)).includes(2), "it offers a name and a password")
      client.write(Uint8Array.of(5, 2))
      const [, nameLength = 0] = await next(2)
      const name = (await next(nameLength)).toString()
      const password = (await next((await next(1))[0] ?? 0)).toString()
      letThrough(`${name}:${password}`)
      client.write(Uint8Array.of(1, 0))
      await next(4)
      const address = [...(await next(4))].join(".")
      const port = (await next(2)).readUInt16BE(0)
      join(client, address, port, Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    }
    void serve()
  })

/** The first connections meet silence: they are accepted without an answer. */
const aProxy = (
  make: (letThrough: (credentials: string) => void) => Server,
  silentFor = 0,
): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const received: Array<string> = []
        const sockets = new Set<Socket>()
        const inner = make((credentials) => received.push(credentials))
        let left = silentFor
        const server = createServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => undefined)
          if (left-- <= 0) inner.emit("connection", socket)
        })
        await new Promise<void>((resolve) => {
          server.listen(0, "127.0.0.1", resolve)
        })
        return { received, sockets, server, port: (server.address() as AddressInfo).port }
      }),
      ({ server, sockets }) =>
        Effect.promise(async () => {
          for (const socket of sockets) socket.destroy()
          await new Promise((resolve) => {
            server.close(resolve)
          })
        }),
    ),
    ({ port, received }) => ({ port, received }),
  )

const kinds = { http: httpProxy, socks5: socksProxy } as const

layer(layerWorld)("a number's proxy", (test) => {
  for (const scheme of ["http", "socks5"] as const) {
    test.effect(`over ${scheme} carries its login and its messages`, () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const proxy = yield* aProxy(kinds[scheme])
        const { digits } = yield* aPerson()
        const recipient = yield* aPerson({ username: `behind_${scheme}` })
        const id = yield* aNumber(digits)
        ;(yield* Proxies).set(id, `${scheme}://me:p%40ss@127.0.0.1:${proxy.port}`)
        yield* logIn(id, digits)
        const message = aText({ id }, { kind: "username", username: `behind_${scheme}` })
        assert.deepStrictEqual(yield* sendNow(message), { _tag: "Accepted" })
        assert.strictEqual(server.copies(recipient.digits), 1)
        // Two steps of the login, and the sending connection.
        assert.deepStrictEqual(proxy.received, ["me:p@ss", "me:p@ss", "me:p@ss"])
      }),
    )
  }
})

layer(layerWorldWith({ openingMillis: 2000 }))(
  "a proxy that accepts connections silently",
  (test) => {
    test.effect("is retried, and nothing goes around it", () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const proxy = yield* aProxy(socksProxy, 2)
        const { digits } = yield* aPerson()
        const id = yield* aNumber(digits)
        ;(yield* Proxies).set(id, `socks5://me:p%40ss@127.0.0.1:${proxy.port}`)
        yield* logIn(id, digits)
        assert.deepStrictEqual(proxy.received, ["me:p@ss", "me:p@ss", "me:p@ss"])
        assert.strictEqual(server.connections(), 1)
      }),
    )
  },
)

it.effect(
  "an egress lets nothing leave once the account is another process's, nor once it is closed",
  () =>
    Effect.gen(function* () {
      const heard: Array<Buffer> = []
      const server = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const created = createServer((socket) => {
            socket.on("data", (bytes) => heard.push(bytes))
            socket.on("error", () => undefined)
          })
          await new Promise<void>((resolve) => {
            created.listen(0, "127.0.0.1", resolve)
          })
          return created
        }),
        (created) =>
          Effect.promise(
            () =>
              new Promise<void>((resolve) => {
                created.close(() => resolve())
              }),
          ),
      )
      const { port } = server.address() as AddressInfo
      const dc = { id: 2, ipAddress: "127.0.0.1", port }
      let isOurs = true
      const { close, transport } = wayOut(null, { mayWrite: () => isOurs, openingMillis: 10_000 })
      const opened = () => Effect.promise(() => transport.connect(dc))
      const refused = (work: () => Promise<unknown>) => Effect.flip(Effect.tryPromise(work))
      const connections = () =>
        Effect.callback<number>((resume) => {
          server.getConnections((_, count) => resume(Effect.succeed(count)))
        })

      const first = yield* opened()
      yield* Effect.promise(async () => first.write(Uint8Array.of(1)))
      yield* until(() => heard.length === 1)
      isOurs = false
      yield* refused(async () => first.write(Uint8Array.of(2)))
      yield* refused(() => transport.connect(dc))
      yield* untilSo(Effect.map(connections(), (count) => count === 0))
      assert.deepStrictEqual(Buffer.concat(heard), Buffer.of(1))

      isOurs = true
      yield* opened()
      close()
      yield* refused(() => transport.connect(dc))
      yield* untilSo(Effect.map(connections(), (count) => count === 0))
    }),
)
