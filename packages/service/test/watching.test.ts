/** What is seen of a service inside a program: its log, its spans and its metrics. */
import { createServer } from "node:http"
import { pino } from "pino"
import { assert, it, onTestFinished } from "vitest"
import type { MessagingLogger } from "../src/index.ts"
import { aShop, opened, phone } from "./Opened.ts"

/** What a collector was sent, by path. */
const aCollector = async () => {
  const received = new Map<string, string>()
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString("utf8")
    })
    request.on("end", () => {
      const path = `${request.url} ${request.headers.authorization}`
      received.set(path, `${received.get(path) ?? ""}${body}`)
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  return { received, url: `http://127.0.0.1:${port}` }
}

it("spans and metrics reach an OpenTelemetry collector by the time that it is closed", async () => {
  const { received, url } = await aCollector()
  const messaging = await opened({
    worker: false,
    telemetry: { otlp: `${url}/`, serviceName: "shop", headers: { authorization: "Bearer hush" } },
  })
  const { api } = await aShop(messaging)
  await api.messages.send({ to: { phone }, text: "Not for others" })
  await messaging.drain()
  await messaging.close()
  assert.sameMembers([...received.keys()], ["/v1/traces Bearer hush", "/v1/metrics Bearer hush"])
  const traces = received.get("/v1/traces Bearer hush") ?? ""
  const metrics = received.get("/v1/metrics Bearer hush") ?? ""
  assert.include(traces, '"Messages.send"')
  assert.include(traces, '"shop"')
  assert.include(metrics, '"messaging_messages_accepted_total"')
  // Neither says what a message says, nor to whom.
  assert.notInclude(traces + metrics, "Not for others")
  assert.notInclude(traces + metrics, phone.slice(1))
})

it("a logger of the host's is given text and fields, and pino the fields first", async () => {
  const lines: Array<ReadonlyArray<unknown>> = []
  const method =
    (level: string) =>
    (...given: ReadonlyArray<unknown>) =>
      lines.push([level, ...given])
  const logger = {
    debug: method("debug"),
    info: method("info"),
    warn: method("warn"),
    error: method("error"),
  }
  const fail = async (given: MessagingLogger) => {
    const messaging = await opened({ worker: false, logger: given })
    const { api } = await aShop(messaging)
    const listening = messaging.on("message.cancelled", () => {
      throw new Error("no")
    })
    const sendAt = new Date(Date.now() + 3_600_000)
    const { id } = await api.messages.send({ to: { phone }, text: "Hello", sendAt })
    const before = lines.length
    await api.messages.cancel(id)
    while (lines.length === before) await new Promise(setImmediate)
    await listening.stop()
    return lines.at(-1) ?? []
  }
  const [level, text, fields] = await fail(logger)
  assert.deepStrictEqual([level, text], ["warn", "a listener failed and is told again"])
  assert.containsAllKeys(fields, ["event", "position", "cause"])
  const [line] = await fail(pino({}, { write: (written) => lines.push([JSON.parse(written)]) }))
  assert.include(line, { level: pino.levels.values["warn"], msg: text })
  assert.containsAllKeys(line, ["event", "position", "cause"])
})
