/** The port: opened, closed and reopened on the same number, without losing state. */
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { WebSocketServer } from "ws"
import { accept } from "./Connection.ts"
import type { Listeners } from "./Connection.ts"
import type { NoiseKeys } from "./noise.ts"
import type { ConnectionOutcome } from "./orders.ts"
import type { ServerState } from "./ServerState.ts"

export interface Listener {
  readonly port: () => number
  readonly up: () => Promise<void>
  /** Breaks every connection off and refuses new ones. */
  readonly down: () => Promise<void>
}

const getPort = (address: string | AddressInfo | null) =>
  typeof address === "object" && address !== null ? address.port : 0

/** Any server with Node's way of listening, on loopback. */
export const listening = (server: {
  readonly once: (event: "listening" | "error", run: (error?: Error) => void) => unknown
}) =>
  new Promise<void>((resolve, reject) => {
    server.once("listening", () => resolve())
    server.once("error", (error) => reject(error ?? new Error("it does not listen")))
  })

export const makeListener = (
  state: ServerState,
  keys: NoiseKeys,
  listeners: Listeners,
): Listener => {
  let server: WebSocketServer | undefined
  let port = 0
  const outcomes = new WeakMap<IncomingMessage, ConnectionOutcome>()
  return {
    port: () => port,
    up: async () => {
      if (server !== undefined) return
      const next = new WebSocketServer({
        host: "127.0.0.1",
        port,
        verifyClient: ({ req }, decide) => {
          const outcome = state.orders.nextConnection()
          if (typeof outcome === "object") return decide(false, outcome.status)
          if (outcome !== undefined) outcomes.set(req, outcome)
          decide(true)
        },
      })
      server = next
      next.on("connection", (socket, request) => {
        const outcome = outcomes.get(request)
        if (outcome === "drop") socket.terminate()
        else if (outcome === undefined) accept(socket, keys, listeners)
      })
      await listening(next)
      port = getPort(next.address())
    },
    down: async () => {
      const current = server
      server = undefined
      if (current === undefined) return
      const closed = new Promise<void>((resolve) => {
        current.close(() => resolve())
      })
      for (const client of current.clients) client.terminate()
      await closed
    },
  }
}
