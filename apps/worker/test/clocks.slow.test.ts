/** A process with a wrong system clock, among others with right ones. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { programs } from "./programs.ts"

const wrongByMillis = 120_000

/** Makes Node's own clock wrong before any code of the program runs. */
const wrongClock = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
    `const now = Date.now; Date.now = () => now() + ${wrongByMillis}`,
  )}`,
}

const valueIn = (metrics: string, series: string): number =>
  Number(
    metrics
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")
      .at(-1),
  )

const getMetrics = (url: string) =>
  Effect.promise(async (signal) => (await fetch(`${url}/metrics`, { signal })).text())

layer(EmbeddedPostgres.layer())("a process whose clock is two minutes ahead", (it) => {
  it.effect("sends and accepts nothing, shows why, and leaves the work to others", () =>
    Effect.gen(function* () {
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const settings = {
        PORT: "0",
        DATABASE_URL: Redacted.value(url),
        DATA_DIR: yield* processes.temporaryDirectory,
        OPERATOR_TOKEN: "operator-token-of-the-clock-test",
        WORKER: "separate",
      }
      const server = yield* processes.startServer(programs.server, settings)
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      const caller = processes.aCaller(server.url, liveKey)
      const at = (ahead: number) => new Date(Date.now() + ahead).toISOString()
      const { body: early } = yield* caller.send("early", { send_at: at(wrongByMillis - 30_000) })
      const { body: due } = yield* caller.send("due", { expires_at: at(wrongByMillis - 30_000) })

      const wrong = yield* processes.start(programs.worker, {
        ...settings,
        ...wrongClock,
        METRICS_PORT: "0",
      })
      const [, wrongUrl = ""] = yield* wrong.awaitOutput(/metrics on (http:\S+)\/metrics/)
      const formatted = yield* getMetrics(wrongUrl)
      assert.closeTo(valueIn(formatted, "messaging_clock_skew_seconds"), wrongByMillis / 1000, 2)
      assert.strictEqual(valueIn(formatted, 'messaging_not_ready{reason="clock"}'), 1)
      assert.strictEqual((yield* processes.call("GET", `${wrongUrl}/health/ready`)).status, 503)

      const wrongServer = yield* processes.startServer(programs.server, {
        ...settings,
        ...wrongClock,
      })
      const refused = yield* processes.call("GET", `${wrongServer.url}/api/v2/messages`, {
        token: liveKey,
      })
      assert.strictEqual(refused.status, 503)
      const operated = yield* processes.call("GET", `${wrongServer.url}/admin/v1/workspaces`, {
        token: settings.OPERATOR_TOKEN,
      })
      assert.strictEqual(operated.status, 200)

      assert.strictEqual((yield* caller.read(due.id)).body.status, "queued")
      yield* processes.start(programs.worker, settings)
      yield* caller.until(due.id, "sent")
      assert.strictEqual((yield* caller.read(early.id)).body.status, "scheduled")
      const later = yield* getMetrics(wrongUrl)
      for (const status of ["sent", "expired"]) {
        const series = `messaging_messages_ended_total{mode="live",status="${status}"}`
        assert.strictEqual(valueIn(later, series), 0)
      }
      const { code, stdout } = yield* wrong.stop
      assert.strictEqual(code, 0)
      assert.include(stdout, "not ready: clock (the system clock is 120.0 s ahead")
    }),
  )
})
