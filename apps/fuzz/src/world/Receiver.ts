/** The fuzzer's own listener on the loopback interface: receives what the service calls, serves files. */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { png } from "../request/multipart.ts"

const answers: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  "/a.png": { type: "image/png", body: png },
  "/a.txt": { type: "text/plain", body: Buffer.from("text") },
  "/empty": { type: "image/png", body: Buffer.alloc(0) },
}

const makeServer = () =>
  createServer((request, response) => {
    const path = request.url ?? ""
    const answer = answers[path]
    request.resume()
    if (path === "/broken") {
      response.writeHead(200, { "content-length": "100" }).write("cut")
      response.destroy()
      return
    }
    if (path === "/around") response.writeHead(302, { location: "/a.png" })
    else if (answer !== undefined) response.writeHead(200, { "content-type": answer.type })
    else response.writeHead(path === "/hook" ? 204 : 404)
    response.end(answer?.body)
  })

const listening = (server: Server) =>
  Effect.callback<string>((resume) => {
    server.listen({ host: "127.0.0.1", port: 0 }, () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed(`http://127.0.0.1:${port}`))
    })
  })

/** Its origin; it closes with the scope. */
export const receiver = Effect.acquireRelease(Effect.sync(makeServer), (server) =>
  Effect.sync(() => {
    server.close()
    server.closeAllConnections()
  }),
).pipe(Effect.flatMap(listening))
