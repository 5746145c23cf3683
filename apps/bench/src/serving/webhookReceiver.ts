/**
 * A process that receives webhooks and answers each at once. It says its address, and stores calls
 * until a command asks for them: only then it reads and checks. It represents remote
 * machines, but shares the processors of the measured program. So it takes a request off its socket,
 * and does nothing else that could wait.
 */
import { createHmac } from "node:crypto"
import { createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { answering } from "../measuring/answering.ts"

/** Command for this process. */
export interface ReceiverCommand {
  /** By path: what the calls to it have to be signed with. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Of all calls since the last command. */
export interface ReceiverReport {
  readonly calls: number
  /** Different pairs of path and event. */
  readonly deliveries: number
  /** Calls with another signature than that of their path's secret, time and body. */
  readonly wronglySigned: number
  /** Calls with another body than the event that the headers name. */
  readonly wrongBodies: number
}

interface Call {
  readonly path: string
  readonly eventId: string
  readonly timestamp: string
  readonly signature: string
  readonly body: Buffer
}

/** As they came: the head with the line that ends it, and the body. */
interface Received {
  readonly head: Buffer
  readonly body: Buffer
}

let received: Array<Received> = []

const answer = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=60\r\n\r\n")

const endOfHead = Buffer.from("\r\n\r\n")

const contentLength = /^content-length: (\d+)\r$/im

/** Takes the requests off a connection's bytes; what is left of them waits for more. */
const takeRequests = (socket: Socket, bytes: Buffer): Buffer => {
  let rest = bytes
  for (;;) {
    const end = rest.indexOf(endOfHead)
    if (end === -1) return rest
    const start = end + endOfHead.length
    const head = rest.subarray(0, start)
    const length = Number(contentLength.exec(head.toString("latin1"))?.[1])
    if (rest.length < start + length) return rest
    received.push({ head, body: rest.subarray(start, start + length) })
    socket.write(answer)
    rest = rest.subarray(start + length)
  }
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0)
  socket.on("data", (bytes: Buffer) => {
    rest = takeRequests(socket, rest.length === 0 ? bytes : Buffer.concat([rest, bytes]))
  })
  socket.on("error", () => socket.destroy())
})

const readCall = ({ body, head }: Received): Call => {
  const [requestLine = "", ...lines] = head.toString("latin1").split("\r\n")
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(": ")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    }),
  )
  return {
    path: requestLine.split(" ")[1] ?? "",
    eventId: headers.get("service-event-id") ?? "",
    timestamp: headers.get("service-timestamp") ?? "",
    signature: headers.get("service-signature") ?? "",
    body,
  }
}

const isSigned = ({ body, path, signature, timestamp }: Call, { secrets }: ReceiverCommand) =>
  signature ===
  `v1=${createHmac("sha256", secrets[path] ?? "")
    .update(`${timestamp}.`)
    .update(body)
    .digest("hex")}`

const isEvent = ({ body, eventId }: Call) =>
  (JSON.parse(body.toString("utf8")) as { readonly id?: unknown }).id === eventId

const report = (command: ReceiverCommand): ReceiverReport => {
  const calls = received.map(readCall)
  const receiverReport: ReceiverReport = {
    calls: calls.length,
    deliveries: new Set(calls.map(({ eventId, path }) => `${path} ${eventId}`)).size,
    wronglySigned: calls.filter((call) => !isSigned(call, command)).length,
    wrongBodies: calls.filter((call) => !isEvent(call)).length,
  }
  received = []
  return receiverReport
}

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  process.send?.(`http://127.0.0.1:${port}`)
})
answering(async (command: ReceiverCommand) => report(command))
