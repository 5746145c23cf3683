/** Servers on loopback for tests of outbound calls, each while its scope is open. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer as createHttpServer } from "node:http"
import type { RequestListener, Server as HttpServer } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { createServer as createTcpServer } from "node:net"
import type { AddressInfo, Server as TcpServer, Socket } from "node:net"
import { certificate, privateKey } from "./certificate.ts"

export interface LoopbackServer {
  readonly port: number
  /** `http://127.0.0.1:port`, or with `https`. */
  readonly origin: string
  /** Connections so far. */
  readonly connections: () => number
  /** Ends when every connection so far is closed. */
  readonly allClosed: Effect.Effect<void>
}

/** Ends once that socket is closed. */
export const closed = (socket: Socket) =>
  Effect.callback<void>((resume) => {
    if (socket.closed) resume(Effect.void)
    else socket.once("close", () => resume(Effect.void))
  })

const listening = (
  server: TcpServer,
  scheme: "http" | "https",
): Effect.Effect<LoopbackServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets: Array<Socket> = []
    server.on("connection", (socket: Socket) => {
      socket.on("error", () => undefined)
      sockets.push(socket)
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          for (const socket of sockets) socket.destroy()
        }),
    )
    const { port } = server.address() as AddressInfo
    return {
      port,
      origin: `${scheme}://127.0.0.1:${port}`,
      connections: () => sockets.length,
      allClosed: Effect.forEach(sockets, closed, { discard: true }),
    }
  })

export const aServer = (listener: RequestListener) => listening(createHttpServer(listener), "http")

export const aTlsServer = (listener: RequestListener, onName?: (name: string) => void) => {
  const server: HttpServer = createHttpsServer(
    {
      cert: certificate,
      key: privateKey,
      SNICallback: (name, answer) => {
        onName?.(name)
        answer(null)
      },
    },
    listener,
  )
  return listening(server, "https")
}

export const aTcpServer = (listener: (socket: Socket) => void) =>
  listening(createTcpServer(listener), "http")
