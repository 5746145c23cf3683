/** A loopback server while a scope is open; open connections are then cut off. */
import { Effect } from "effect"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

/** The origin of the server, on a free port. */
export const listenOnLoopback = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
      )
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      }),
  )
