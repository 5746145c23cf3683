/** A worker's own metrics, on its port (docs: monitoring). */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { programs } from "./programs.ts"

const scrape = (url: string) =>
  Effect.promise(async (signal) => {
    const text = await (await fetch(`${url}/metrics`, { signal })).text()
    return (series: string) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${series} `))
          ?.split(" ")
          .at(-1),
      )
  })

const accepted = 'messaging_messages_accepted_total{mode="live"}'
const sent = 'messaging_messages_ended_total{mode="live",status="sent"}'
const connected = 'messaging_numbers{platform="whatsapp",status="connected"}'

layer(EmbeddedPostgres.layer())("a worker with METRICS_PORT", (it) => {
  it.effect("counts its sends, the server its acceptances; both show the service's gauges", () =>
    Effect.gen(function* () {
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const settings = {
        PORT: "0",
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: yield* processes.temporaryDirectory,
        WORKER: "separate",
      }
      const server = yield* processes.startServer(programs.server, settings)
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      const caller = processes.aCaller(server.url, liveKey)
      const worker = yield* processes.start(programs.worker, {
        ...settings,
        METRICS_PORT: "0",
      })
      const [, at = ""] = yield* worker.awaitOutput(
        /^worker ready \(version [\d.]+; metrics on (http:\S+)\/metrics\)$/m,
      )
      const { body } = yield* caller.send("Hello")
      yield* caller.until(body.id, "sent")

      const [ofServer, ofWorker] = [yield* scrape(server.url), yield* scrape(at)]
      assert.deepStrictEqual([ofServer(accepted), ofWorker(accepted)], [1, 0])
      // The message can be read as sent a moment before its sender has counted it.
      yield* processes.waitUntil(
        "the worker has counted",
        Effect.map(scrape(at), (value) => (value(sent) === 1 ? true : undefined)),
      )
      assert.strictEqual(ofServer(sent), 0)
      assert.deepStrictEqual([ofServer(connected), ofWorker(connected)], [1, 1])

      const ready = yield* processes.call("GET", `${at}/health/ready`)
      assert.deepStrictEqual([ready.status, ready.body], [200, { status: "ok" }])
      assert.strictEqual((yield* processes.call("GET", `${at}/api/v2/messages`)).status, 404)

      const second = yield* processes.start(programs.worker, {
        ...settings,
        METRICS_PORT: new URL(at).port,
      })
      const { code, stderr } = yield* second.ended
      assert.strictEqual(code, 1)
      assert.match(stderr, /^METRICS_PORT \d+ is in use [^\n]+\n$/)
      assert.strictEqual((yield* worker.stop).code, 0)
    }),
  )
})
