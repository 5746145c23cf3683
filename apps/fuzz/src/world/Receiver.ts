/** The fuzzer's own listener on the loopback interface: receives the service's calls, serves files. */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, Server } from "node:http"
import type { ReceivedCall } from "../oracle/calls.ts"
import { png } from "../request/multipart.ts"

const answers: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  "/a.png": { type: "image/png", body: png },
  "/a.txt": { type: "text/plain", body: Buffer.from("text") },
  "/empty": { type: "image/png", body: Buffer.alloc(0) },
}

/** A request's whole body, which the service keeps small. */
const hear = (request: IncomingMessage, called: (call: ReceivedCall) => void): void => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () =>
    called({
      method: request.method ?? "",
      headers: request.headers,
      body: Buffer.concat(parts).toString(),
    }),
  )
}

const makeServer = (called: (call: ReceivedCall) => void) =>
  createServer((request, response) => {
    const path = request.url ?? ""
    const answer = answers[path]
    if (request.method === "POST") hear(request, called)
    else request.resume()
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

/** Its origin; it closes with the scope. Calls `called` for each POST. */
export const receiver = (called: (call: ReceivedCall) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => makeServer(called)),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  ).pipe(Effect.flatMap(listening))
