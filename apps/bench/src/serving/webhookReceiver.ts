/**
 * A process that receives webhooks and answers each at once. It says where it listens, and keeps
 * what came until it is asked on a line of standard input: only then it checks, so that checking
 * takes no time from receiving.
 */
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createInterface } from "node:readline"
import type { ReceiverOrder, ReceiverReport } from "./ReceiverOrder.ts"

interface Call {
  readonly path: string
  readonly eventId: string
  readonly timestamp: string
  readonly signature: string
  readonly body: Buffer
}

const header = (value: string | ReadonlyArray<string> | undefined): string =>
  typeof value === "string" ? value : ""

let calls: Array<Call> = []
let connections = 0

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const { headers } = request
    calls.push({
      path: request.url ?? "",
      eventId: header(headers["service-event-id"]),
      timestamp: header(headers["service-timestamp"]),
      signature: header(headers["service-signature"]),
      body: parts[0] !== undefined && parts.length === 1 ? parts[0] : Buffer.concat(parts),
    })
    response.writeHead(200, { "content-length": "0" }).end()
  })
})
server.on("connection", () => connections++)

const isSigned = ({ body, path, signature, timestamp }: Call, { secrets }: ReceiverOrder) =>
  signature ===
  `v1=${createHmac("sha256", secrets[path] ?? "")
    .update(`${timestamp}.`)
    .update(body)
    .digest("hex")}`

const isEvent = ({ body, eventId }: Call) =>
  (JSON.parse(body.toString("utf8")) as { readonly id?: unknown }).id === eventId

const report = (order: ReceiverOrder): ReceiverReport => {
  const told: ReceiverReport = {
    calls: calls.length,
    deliveries: new Set(calls.map(({ eventId, path }) => `${path} ${eventId}`)).size,
    wronglySigned: calls.filter((call) => !isSigned(call, order)).length,
    wrongBodies: calls.filter((call) => !isEvent(call)).length,
    connections,
  }
  calls = []
  connections = 0
  return told
}

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`"http://127.0.0.1:${port}"\n`)
})
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(report(JSON.parse(line) as ReceiverOrder))}\n`)
}
