/** What a host observes of the service inside its program: log, spans and metrics. */
import { createServer } from "node:http"
import { pino } from "pino"
import { assert, it, onTestFinished } from "vitest"
import type { MessagingLogger } from "../src/index.ts"
import { openTest } from "../src/testing/index.ts"
import { aShop, opened, phone } from "./Opened.ts"

/** Requests to a collector, by path. */
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
  // Neither contains a message's text or recipient.
  assert.notInclude(traces + metrics, "Not for others")
  assert.notInclude(traces + metrics, phone.slice(1))
})

it("each service of a process counts its own, in drains, at /metrics and at its collector", async () => {
  const services = await Promise.all(
    [1, 5].map(async (messages) => {
      const { received, url } = await aCollector()
      const messaging = await opened({ worker: false, telemetry: { otlp: url } })
      const { api } = await aShop(messaging)
      const to = Array.from({ length: messages }, () => ({ phone }))
      await api.messages.sendBatch({ to, text: "Hello" })
      return { messages, messaging, received }
    }),
  )
  const drained = await Promise.all(services.map(({ messaging }) => messaging.drain()))
  assert.deepStrictEqual(
    drained.map(({ sent }) => sent),
    [1, 5],
  )
  for (const { messages, messaging, received } of services) {
    const scraped = await messaging.handler(new Request("http://host/metrics"))
    assert.include(
      await scraped.text(),
      `messaging_messages_ended_total{mode="live",status="sent"} ${messages}\n`,
    )
    await messaging.close()
    const exported = [...received.entries()].find(([path]) => path.startsWith("/v1/metrics"))
    const accepted = /"messaging_messages_accepted_total".*?"asDouble":(\d+)/.exec(
      exported?.[1] ?? "",
    )
    assert.strictEqual(accepted?.[1], String(messages))
  }
})

it("services for tests, opened side by side, count apart too", async () => {
  const tests = await Promise.all([openTest(), openTest()])
  await tests[0].api.messages.send({ to: { phone }, text: "Hello" })
  const counts = await Promise.all(
    tests.map(async (t) => {
      const scraped = await t.messaging.handler(new Request("http://host/metrics"))
      const [, count] =
        /_ended_total\{mode="live",status="sent"\} (\d+)/.exec(await scraped.text()) ?? []
      await t.close()
      return count
    }),
  )
  assert.deepStrictEqual(counts, ["1", "0"])
})

it("a logger of the host's is given text and fields, and pino the fields first", async () => {
  const lines: Array<ReadonlyArray<unknown>> = []
  const method =
    (level: string) =>
    (...args: ReadonlyArray<unknown>) =>
      lines.push([level, ...args])
  const logger = {
    debug: method("debug"),
    info: method("info"),
    warn: method("warn"),
    error: method("error"),
  }
  const fail = async (input: MessagingLogger) => {
    const messaging = await opened({ worker: false, logger: input })
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
  assert.deepStrictEqual([level, text], ["warn", "a listener failed; it gets the event again"])
  assert.containsAllKeys(fields, ["event", "position", "cause"])
  const [line] = await fail(pino({}, { write: (written) => lines.push([JSON.parse(written)]) }))
  assert.include(line, { level: pino.levels.values["warn"], msg: text })
  assert.containsAllKeys(line, ["event", "position", "cause"])
})
