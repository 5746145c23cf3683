/** A server and a worker as two processes on one PostgreSQL (`WORKER=separate`; contract: Configuration). */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Fiber, Redacted } from "effect"
import { programs } from "./programs.ts"

const operatorToken = "operator-token-of-the-separate-worker"

/** A stop takes 10 s at most. */
const inTime = processes.tellsLateStop(10_000)

/** Settings of processes that share a new database. */
const shared = Effect.gen(function* () {
  const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
  return {
    PORT: "0",
    DATABASE_URL: Redacted.value(url),
    DATA_DIR: yield* processes.temporaryDirectory,
    OPERATOR_TOKEN: operatorToken,
    WORKER: "separate",
  }
})

const startWorker = Effect.fnUntraced(function* (settings: Record<string, string>) {
  const worker = yield* processes.start(programs.worker, settings)
  yield* worker.awaitOutput(/^worker ready \(version [\d.]+\)$/m)
  return worker
})

/** A server after its first start, which created the demonstration workspace. */
const startServer = Effect.fnUntraced(function* (settings: Record<string, string>) {
  const server = yield* processes.startServer(programs.server, settings)
  const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
  return {
    ...server,
    caller: processes.aCaller(server.url, liveKey),
    operator: processes.anOperator(server.url, operatorToken),
  }
})

interface Listed<A> {
  readonly data: ReadonlyArray<A>
}

const after = (instant: string, seconds: number) =>
  new Date(Date.parse(instant) + seconds * 1000).toISOString()

layer(EmbeddedPostgres.layer(), { concurrent: true })(
  "a server and a worker on one PostgreSQL",
  (it) => {
    it.effect("the server accepts, and only the worker sends", () =>
      Effect.gen(function* () {
        const settings = yield* shared
        const { caller, operator } = yield* startServer(settings)
        const workspaces = yield* operator.request<Listed<{ readonly id: number }>>(
          "GET",
          "/workspaces",
        )
        const numbers = yield* operator.request<Listed<{ readonly worker: string | null }>>(
          "GET",
          `/workspaces/${workspaces.body.data[0]?.id}/connections`,
        )
        assert.isNotEmpty(numbers.body.data)
        for (const { worker } of numbers.body.data) assert.isNull(worker)
        const { body } = yield* caller.send("Hello")
        assert.strictEqual(body.status, "queued")
        yield* startWorker(settings)
        yield* caller.until(body.id, "sent")
        const next = (yield* caller.send("again")).body
        yield* caller.until(next.id, "sent")
        assert.deepStrictEqual(yield* operator.sent, ["again", "Hello"])
      }),
    )

    it.effect("of two servers that start at once, one creates the demonstration workspace", () =>
      Effect.gen(function* () {
        const settings = yield* shared
        const servers = yield* Effect.all([startServer(settings), startServer(settings)], {
          concurrency: "unbounded",
        })
        const visible = yield* Effect.forEach(servers, ({ stdout }) => stdout)
        const stored = yield* Effect.forEach(visible, processes.storedSecrets)
        assert.lengthOf(
          stored.filter(({ liveKey }) => liveKey !== undefined),
          1,
        )
        const { body } = yield* servers[0].operator.request<{
          readonly data: ReadonlyArray<unknown>
        }>("GET", "/workspaces")
        assert.lengthOf(body.data, 1)
      }),
    )

    it.effect("moving the server's clock moves the worker's", () =>
      Effect.gen(function* () {
        const settings = { ...(yield* shared), CLOCK: "adjustable" }
        const server = yield* startServer(settings)
        yield* startWorker(settings)
        const now = yield* server.operator.now
        const soon = (yield* server.caller.send("soon", { send_at: after(now, 86_400) })).body
        const late = (yield* server.caller.send("late", { send_at: after(now, 3 * 86_400) })).body
        const moved = yield* server.operator.advance(2 * 86_400)
        assert.strictEqual(moved.status, 200)
        assert.strictEqual((yield* server.caller.read(soon.id)).body.status, "sent")
        assert.strictEqual((yield* server.caller.read(late.id)).body.status, "scheduled")
      }),
    )

    it.effect("moving one server's clock moves another's", () =>
      Effect.gen(function* () {
        const settings = { ...(yield* shared), CLOCK: "adjustable", WORKER: "inline" }
        const one = yield* startServer(settings)
        const other = yield* startServer(settings)
        const moved = yield* one.operator.advance(86_400)
        yield* processes.waitUntil(
          "the other server's clock has moved",
          Effect.map(other.operator.now, (now) =>
            Date.parse(now) >= Date.parse(moved.body.now) ? now : undefined,
          ),
        )
      }),
    )

    it.effect("a stopping worker settles the running attempt and ends with 0", () =>
      Effect.gen(function* () {
        const settings = yield* shared
        const { caller, operator } = yield* startServer(settings)
        const worker = yield* startWorker(settings)
        yield* operator.behave(1, { send: "succeed", latency_ms: 2500 })
        const { cancelling, message } = yield* processes.anAttemptUnderWay(caller)
        const { code, stderr } = yield* worker.stop
        assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
        assert.strictEqual((yield* caller.read(message.id)).body.status, "sent")
        yield* Fiber.join(cancelling)
      }),
    )

    it.effect("a stopping worker abandons a hanging phone in time", () =>
      Effect.gen(function* () {
        const settings = yield* shared
        const { caller, operator } = yield* startServer(settings)
        const worker = yield* startWorker({ ...settings, ...inTime })
        yield* operator.behave(1, { send: "hang" })
        yield* processes.anAttemptUnderWay(caller)
        const { code, stderr } = yield* worker.stop
        assert.strictEqual(code, 0)
        assert.notInclude(stderr, "still running")
      }),
    )

    it.effect("a worker with a wrong configuration names it in one line and ends with 1", () =>
      Effect.gen(function* () {
        const settings = yield* shared
        for (const [wrong, variable] of [
          [{ DATABASE_URL: "memory:" }, "DATABASE_URL"],
          [{ DATABASE_URL: "" }, "DATABASE_URL"],
          [{ DATABASE_URL: "postgres://127.0.0.1:1/messages" }, "DATABASE_URL"],
          [{ DATABASE_URL: settings.DATABASE_URL.replace(/test_\d+/, "nowhere") }, "DATABASE_URL"],
          [{ CLOCK: "sundial" }, "CLOCK"],
        ] as const) {
          const { ended } = yield* processes.start(programs.worker, { ...settings, ...wrong })
          const { code, stderr, stdout } = yield* ended
          assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
          assert.match(stderr, new RegExp(`^${variable}:? [^\\n]+\\n$`))
        }
      }),
    )
  },
)

// Their database goes away, and so does that of all others.
layer(EmbeddedPostgres.layer())("when PostgreSQL goes away", (it) => {
  it.effect(
    "requests fail with internal_error, readiness with 503, and everything recovers by itself",
    () =>
      Effect.gen(function* () {
        const postgres = yield* EmbeddedPostgres
        const settings = yield* shared
        const { caller, operator, url } = yield* startServer(settings)
        const worker = yield* startWorker(settings)
        const first = (yield* caller.send("before")).body
        yield* caller.until(first.id, "sent")

        yield* postgres.stop
        const failed = yield* caller.send("meanwhile")
        assert.strictEqual(failed.status, 500)
        assert.deepInclude(failed.body.error, { code: "internal_error" })
        const unready = yield* processes.call("GET", `${url}/health/ready`)
        assert.deepStrictEqual([unready.status, unready.body], [503, { status: "unavailable" }])
        assert.strictEqual((yield* processes.call("GET", `${url}/health/live`)).status, 200)

        yield* postgres.start
        yield* processes.waitUntil(
          "the server is ready again",
          Effect.map(processes.call("GET", `${url}/health/ready`), ({ status }) =>
            status === 200 ? true : undefined,
          ),
        )
        const next = (yield* caller.send("after")).body
        yield* caller.until(next.id, "sent")
        assert.deepStrictEqual(yield* operator.sent, ["after", "before"])
        assert.strictEqual((yield* worker.stop).code, 0)
      }),
  )

  it.effect("a database that hangs stops a start, and does not delay a stop", () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres
      const settings = { ...(yield* shared), ...inTime }
      const server = yield* startServer(settings)
      const worker = yield* startWorker(settings)
      yield* Effect.acquireRelease(postgres.freeze, () => postgres.thaw)
      const unready = yield* processes.call("GET", `${server.url}/health/ready`)
      assert.strictEqual(unready.status, 503)
      const inVain = yield* processes.start(programs.worker, settings)
      const ends = yield* Effect.all([server.stop, worker.stop], { concurrency: "unbounded" })
      for (const end of ends) {
        assert.strictEqual(end.code, 0)
        assert.notInclude(end.stderr, "still running")
      }
      const { code, stderr } = yield* inVain.ended
      assert.strictEqual(code, 1)
      assert.match(stderr, /^DATABASE_URL: [^\n]+\n$/)
    }),
  )
})
