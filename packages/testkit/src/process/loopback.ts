/** Listening on loopback for as long as a scope is open; what is still open then is cut off. */
import { Effect } from "effect"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

/** The origin of the server, on a port that was free. */
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
