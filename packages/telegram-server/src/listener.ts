/** The ports of the data centres: opened, closed and reopened, without losing state. */
import { createServer } from "node:net"
import type { Server } from "node:net"
import { accept } from "./Connection.ts"
import type { Connection, Listeners } from "./Connection.ts"
import type { ServerState } from "./ServerState.ts"

const listen = (dcId: number, port: number, listeners: Listeners) =>
  new Promise<Server>((resolve, reject) => {
    const server = createServer((socket) => accept(socket, dcId, listeners))
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => resolve(server))
  })

const close = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve())
  })

export const makeListener = (state: ServerState, listeners: Listeners, open: Set<Connection>) => {
  let servers: ReadonlyArray<Server> = []
  return {
    up: async (): Promise<void> => {
      if (servers.length > 0) return
      servers = await Promise.all(
        [...state.ports].map(async ([dcId, port]) => {
          const server = await listen(dcId, port, listeners)
          const address = server.address()
          if (typeof address === "object" && address !== null) state.ports.set(dcId, address.port)
          return server
        }),
      )
    },
    /** Breaks every connection off and refuses new ones. */
    down: async (): Promise<void> => {
      const closing = servers.map(close)
      servers = []
      for (const connection of open) connection.drop()
      await Promise.all(closing)
    },
  }
}
