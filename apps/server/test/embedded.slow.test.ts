/** A server on the embedded database, which it stores in its data directory. */
import { assert, layer } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Context, Effect, Layer, Schedule } from "effect"
import { access, cp, lstat, readFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { aDataDirectory, forgetful, program } from "./aServer.ts"

type Secrets = Effect.Success<ReturnType<typeof processes.storedSecrets>>

/** Settings of a persistent server, in an empty directory. */
const lasting = Effect.map(forgetful, ({ DATA_DIR, PORT }) => ({ DATA_DIR, PORT }))

const start = (settings: Record<string, string>) => processes.startServer(program, settings)

const exists = (path: string) =>
  Effect.promise(() =>
    access(path).then(
      () => true,
      () => undefined,
    ),
  )

const requesting = (
  { liveKey = "", operatorToken = "" }: Secrets,
  { url }: processes.ServerProcess,
) => ({
  caller: processes.aCaller(url, liveKey),
  operator: processes.anOperator(url, operatorToken),
})

/** After a first start: its output, and requests to this and later servers of that directory. */
const aFirstServer = Effect.fnUntraced(function* (settings: Record<string, string>) {
  const server = yield* start(settings)
  const secrets = yield* processes.storedSecrets(yield* server.stdout)
  return { server, secrets, request: (one: processes.ServerProcess) => requesting(secrets, one) }
})

/**
 * The state of a server that sent one message and stopped. A first start creates everything, so
 * tests on other subjects continue from a copy.
 */
class Left extends Context.Service<
  Left,
  { readonly directory: string; readonly secrets: Secrets; readonly messageId: number }
>()("test/Left") {
  static readonly layer = Layer.effect(
    Left,
    Effect.gen(function* () {
      const settings = { DATA_DIR: yield* aDataDirectory, PORT: "0" }
      const first = yield* aFirstServer(settings)
      const { caller } = first.request(first.server)
      const { body } = yield* caller.send("before")
      yield* caller.until(body.id, "sent")
      yield* first.server.stop
      return { directory: settings.DATA_DIR, secrets: first.secrets, messageId: body.id }
    }),
  )
}

/** A server that continues from there, with these additional settings. */
const aLaterServer = Effect.fnUntraced(function* (more: Record<string, string> = {}) {
  const { directory, secrets } = yield* Left
  const settings = { ...(yield* lasting), ...more }
  yield* Effect.promise(() => cp(directory, settings.DATA_DIR, { recursive: true }))
  const server = yield* start(settings)
  return { server, settings, request: (one: processes.ServerProcess) => requesting(secrets, one) }
})

layer(Left.layer)("a server on the embedded database", (it) => {
  it.effect(
    "keeps messages, keys and the operator token over a restart, and shows none again",
    () =>
      Effect.gen(function* () {
        const { messageId, secrets } = yield* Left
        const { request, server, settings } = yield* aLaterServer()
        assert.match(yield* server.stdout, /^listening on http:\/\/[^\n]+\n$/)
        const { caller, operator } = request(server)
        assert.strictEqual((yield* caller.read(messageId)).body.status, "sent")
        const after = (yield* caller.send("after")).body
        yield* caller.until(after.id, "sent")
        assert.deepStrictEqual(yield* operator.sent, ["after", "before"])
        const stored = yield* Effect.promise(() =>
          readFile(join(settings.DATA_DIR, "operator-token"), "utf8"),
        )
        assert.strictEqual(stored.trim(), secrets.operatorToken)
      }),
  )

  it.effect("creates no file that other users may read", () =>
    Effect.gen(function* () {
      const { directory } = yield* Left
      const open = yield* Effect.promise(async () => {
        const names = await readdir(directory, { recursive: true })
        assert.isAbove(names.length, 900)
        const modes = ["", ...names].map(async (name) => {
          const { mode } = await lstat(join(directory, name))
          return (mode & 0o077) === 0 ? [] : [name]
        })
        return (await Promise.all(modes)).flat()
      })
      assert.deepStrictEqual(open, [])
    }),
  )

  it.effect("settles an attempt in flight before it stops: sent once, and stored as sent", () =>
    Effect.gen(function* () {
      const { request, server, settings } = yield* aLaterServer()
      const first = request(server)
      yield* first.operator.behave(1, { send: "succeed", latency_ms: 2500 })
      const { message } = yield* processes.anAttemptUnderWay(first.caller)
      yield* server.stop

      const again = request(yield* start(settings))
      assert.strictEqual((yield* again.caller.read(message.id)).body.status, "sent")
      assert.deepStrictEqual(yield* again.operator.sent, ["under way", "before"])
    }),
  )

  it.effect("restarts at once after a kill, with everything that it had accepted", () =>
    Effect.gen(function* () {
      const { request, server, settings } = yield* aLaterServer()
      const { body } = yield* request(server).caller.send("Hello")
      yield* server.kill
      const again = request(yield* start(settings))
      yield* again.caller.until(body.id, "sent")
      assert.deepStrictEqual(yield* again.operator.sent, ["Hello", "before"])
    }),
  )

  it.effect("starts after a kill at every step of its first start", () =>
    Effect.gen(function* () {
      const settings = yield* lasting
      // None exists before: each start begins from scratch, or continues after the killed one.
      for (const created of ["lock", "db", "db/PG_VERSION", "db/global/pg_control"]) {
        const killed = yield* processes.start(program, settings)
        yield* processes.waitUntil(
          `there is ${created}`,
          exists(join(settings.DATA_DIR, created)),
          Schedule.spaced(20),
        )
        yield* killed.kill
      }
      const { request, server } = yield* aFirstServer(settings)
      const { caller } = request(server)
      const { body } = yield* caller.send("Hello")
      yield* caller.until(body.id, "sent")
    }),
  )

  it.effect("refuses a second process on its directory in one line, and continues", () =>
    Effect.gen(function* () {
      const { request, server, settings } = yield* aLaterServer()
      const { ended } = yield* processes.start(program, settings)
      const { code, stderr, stdout } = yield* ended
      assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
      assert.match(stderr, /^DATA_DIR is in use by another process[^\n]*\n$/)
      const { body } = yield* request(server).caller.send("Hello")
      yield* request(server).caller.until(body.id, "sent")
    }),
  )

  it.effect("resumes an adjustable clock where it was moved to", () =>
    Effect.gen(function* () {
      const { request, server, settings } = yield* aLaterServer({ CLOCK: "adjustable" })
      const moved = yield* request(server).operator.advance(86_400)
      assert.strictEqual(moved.status, 200)
      yield* server.stop
      const again = request(yield* start(settings))
      assert.isAtLeast(Date.parse(yield* again.operator.now), Date.parse(moved.body.now))
    }),
  )

  /** A later server with its database on a disk that the test can break, and its health. */
  const aServerOnFaultyDisk = Effect.gen(function* () {
    const control = join(yield* processes.temporaryDirectory, "fault")
    const { directory, secrets } = yield* Left
    const settings = yield* lasting
    yield* Effect.promise(() => cp(directory, settings.DATA_DIR, { recursive: true }))
    const disk = processes.faultyDisk(settings.DATA_DIR, control)
    const options = [disk.variables, processes.tellsLateStop(10_000)].map(
      (of) => of["NODE_OPTIONS"],
    )
    const variables = { ...disk.variables, NODE_OPTIONS: options.join(" ") }
    const server = yield* start({ ...settings, ...variables })
    const health = Effect.promise(async () => {
      const [live, ready] = ["live", "ready"].map((name) => fetch(`${server.url}/health/${name}`))
      return [(await live)?.status, (await ready)?.status]
    })
    return { ...requesting(secrets, server), disk, health, server }
  })

  it.effect(
    "refuses while its disk fails, gives the reason in one line, and continues once it works",
    () =>
      Effect.gen(function* () {
        const { caller, disk, health, operator, server } = yield* aServerOnFaultyDisk
        yield* disk.fail({ kind: "unsyncable" })
        // The outcome of the first is unknown.
        assert.strictEqual((yield* caller.send("not acknowledged")).status, 500)
        assert.strictEqual((yield* caller.send("refused")).status, 503)
        assert.deepStrictEqual(yield* health, [200, 503])
        yield* disk.repair
        const isReady = Effect.map(health, ([, ready]) => (ready === 200 ? true : undefined))
        yield* processes.waitUntil("it is ready again", isReady, Schedule.spaced(50))
        const { body } = yield* caller.send("acknowledged")
        yield* caller.until(body.id, "sent")
        const sent = yield* operator.sent
        assert.deepStrictEqual(
          sent.filter((text) => text !== "not acknowledged"),
          ["acknowledged", "before"],
        )
        const { code, stderr, stdout } = yield* server.stop
        const lines = `${stdout}${stderr}`
          .split("\n")
          .filter((line) => line.includes("The embedded database has ended"))
        assert.strictEqual(lines.length, 1)
        assert.match(lines.join(), /PANIC: .*could not fdatasync/)
        assert.strictEqual(code, 0)
      }),
  )

  it.effect("ends within ten seconds of SIGTERM while its database hangs", () =>
    Effect.gen(function* () {
      const { caller, disk, health, server } = yield* aServerOnFaultyDisk
      yield* disk.fail({ kind: "silent" })
      yield* Effect.forkChild(Effect.ignore(caller.send("never answered")))
      const notReady = Effect.map(health, ([live, ready]) =>
        live === 200 && ready === 503 ? true : undefined,
      )
      yield* processes.waitUntil("it is not ready", notReady, Schedule.spaced(50))
      assert.notInclude((yield* server.stop).stderr, "still running")
    }),
  )
})
