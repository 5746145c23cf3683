/** Proxies on this machine, of each kind, that require a name and a password and count connections. */
import { Effect } from "effect"
import { createServer as createHttp } from "node:http"
import { createServer as createHttps } from "node:https"
import { connect, createServer as createTcp } from "node:net"
import type { AddressInfo, Server, Socket } from "node:net"
import { makeCertificate } from "./certificate.ts"

export interface CountingProxy {
  /** Without credentials. */
  readonly address: string
  /** Targets of connections, as the client named them. */
  readonly passed: Array<string>
  /** Attempts with other credentials, or none. */
  readonly refused: () => number
  /** Cuts all connections. */
  readonly cut: () => void
}

const login = "number"
const password = "p@ss word"

/** The proxy's URL as an operator would write it. */
export const withCredentials = ({ address }: Pick<CountingProxy, "address">): string =>
  address.replace("://", `://${login}:${encodeURIComponent(password)}@`)

/** Listens on loopback until the scope closes. */
const listening = (protocol: string, make: (proxy: Parts) => Server) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const open = new Set<Socket>()
      const parts: Parts = { passed: [], refused: 0, open }
      const server = make(parts).on("connection", (socket: Socket) => {
        open.add(socket)
        socket.on("error", () => undefined).on("close", () => open.delete(socket))
      })
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
      const { port } = server.address() as AddressInfo
      const cut = () => {
        for (const socket of open) socket.destroy()
      }
      const proxy: CountingProxy = {
        address: `${protocol}://127.0.0.1:${port}`,
        passed: parts.passed,
        refused: () => parts.refused,
        cut,
      }
      return { server, proxy }
    }),
    ({ proxy, server }) =>
      Effect.promise(async () => {
        proxy.cut()
        await new Promise((resolve) => void server.close(resolve))
      }),
  ).pipe(Effect.map(({ proxy }) => proxy))

interface Parts {
  readonly passed: Array<string>
  refused: number
  readonly open: Set<Socket>
}

const join = (client: Socket, remote: Socket) => {
  client.pipe(remote).pipe(client)
  remote.on("error", () => client.destroy()).on("close", () => client.destroy())
  client.on("close", () => remote.destroy())
}

const connecting = (parts: Parts, server: ReturnType<typeof createHttp>) =>
  server.on("connect", (request, stream) => {
    const client = stream as Socket
    const text = request.headers["proxy-authorization"]
    const query = `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`
    if (text !== query) {
      parts.refused++
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
      return
    }
    const [host = "", port = ""] = (request.url ?? "").split(":")
    parts.passed.push(request.url ?? "")
    const remote = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      join(client, remote)
    }).on("error", () => client.destroy())
  })

const aHttpProxy = listening("http", (parts) => connecting(parts, createHttp()))

/** Both ends of its own TLS; `certificate` is what a client must trust. */
const aHttpsProxy = Effect.gen(function* aHttpsProxy() {
  const certificate = makeCertificate("proxy")
  const proxy = yield* listening("https", (parts) => connecting(parts, createHttps(certificate)))
  return { proxy, certificate: certificate.cert }
})

/** The parts of SOCKS 5 that a connection needs: RFC 1928 and RFC 1929. */
const aSocksProxy = listening("socks5", (parts) =>
  createTcp((client) => {
    const steps = [
      (_methods: Buffer) => client.write(Buffer.from([5, 2])),
      (said: Buffer) => {
        const nameEnd = 2 + (said[1] ?? 0)
        const name = said.subarray(2, nameEnd).toString()
        const text = said.subarray(nameEnd + 1).toString()
        const isRight = name === login && text === password
        if (!isRight) parts.refused++
        client.write(Buffer.from([1, isRight ? 0 : 1]))
      },
      (request: Buffer) => {
        const isName = request[3] === 3
        const length = isName ? (request[4] ?? 0) : 4
        const at = isName ? 5 : 4
        const bytes = request.subarray(at, at + length)
        const host = isName ? bytes.toString() : bytes.join(".")
        const port = request.readUInt16BE(at + length)
        parts.passed.push(`${host}:${port}`)
        const remote = connect(port, host, () => {
          client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
          join(client, remote)
        }).on("error", () => client.destroy())
      },
    ]
    const next = (bytes: Buffer) => {
      const step = steps.shift()
      if (steps.length === 0) client.off("data", next)
      step?.(bytes)
    }
    client.on("data", next)
  }),
)

/** One of each kind. */
export const someProxies = Effect.gen(function* someProxies() {
  const { certificate, proxy } = yield* aHttpsProxy
  return {
    certificate,
    proxies: { http: yield* aHttpProxy, https: proxy, socks5: yield* aSocksProxy },
  }
})
