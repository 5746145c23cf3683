/** A server on the embedded database, which it keeps in its data directory. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { access, lstat, readFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { forgetful, program } from "./aServer.ts"

/** Settings of a server that remembers, in an empty directory. */
const lasting = Effect.map(forgetful, ({ DATA_DIR, PORT }) => ({ DATA_DIR, PORT }))

const start = (settings: Record<string, string>) => processes.startServer(program, settings)

const exists = (path: string) =>
  Effect.promise(() =>
    access(path).then(
      () => true,
      () => undefined,
    ),
  )

/** After a first start: what it showed, and ways to ask this and later servers of that directory. */
const aFirstServer = Effect.fnUntraced(function* (settings: Record<string, string>) {
  const server = yield* start(settings)
  const { liveKey = "", operatorToken = "" } = yield* processes.keptSecrets(yield* server.stdout)
  const asking = ({ url }: processes.ServerProcess) => ({
    caller: processes.aCaller(url, liveKey),
    operator: processes.anOperator(url, operatorToken),
  })
  return { server, asking, operatorToken }
})

describe("a server on the embedded database", () => {
  it.effect(
    "keeps messages, keys and the operator token over a restart, and shows none again",
    () =>
      Effect.gen(function* () {
        const settings = yield* lasting
        const { asking, operatorToken, server } = yield* aFirstServer(settings)
        const first = asking(server)
        const { body } = yield* first.caller.send("before")
        yield* first.caller.until(body.id, "sent")
        yield* server.stop

        const later = yield* start(settings)
        assert.match(yield* later.stdout, /^listening on http:\/\/[^\n]+\n$/)
        const again = asking(later)
        assert.strictEqual((yield* again.caller.read(body.id)).body.status, "sent")
        const after = (yield* again.caller.send("after")).body
        yield* again.caller.until(after.id, "sent")
        assert.deepStrictEqual(yield* again.operator.sent, ["after", "before"])
        const kept = yield* Effect.promise(() =>
          readFile(join(settings.DATA_DIR, "operator-token"), "utf8"),
        )
        assert.strictEqual(kept.trim(), operatorToken)
      }),
  )

  it.effect("leaves no file that other users may read, whatever it makes while it runs", () =>
    Effect.gen(function* () {
      const settings = yield* lasting
      const { asking, server } = yield* aFirstServer(settings)
      const { caller } = asking(server)
      const { body } = yield* caller.send("a message")
      yield* caller.until(body.id, "sent")
      yield* server.stop
      const open = yield* Effect.promise(async () => {
        const names = await readdir(settings.DATA_DIR, { recursive: true })
        const modes = ["", ...names].map(async (name) => {
          const { mode } = await lstat(join(settings.DATA_DIR, name))
          return (mode & 0o077) === 0 ? [] : [name]
        })
        return (await Promise.all(modes)).flat()
      })
      assert.deepStrictEqual(open, [])
    }),
  )

  it.effect("settles an attempt under way before it stops: sent once, and known to be", () =>
    Effect.gen(function* () {
      const settings = yield* lasting
      const { asking, server } = yield* aFirstServer(settings)
      const first = asking(server)
      yield* first.operator.behave(1, { send: "succeed", latency_ms: 2500 })
      const { message } = yield* processes.anAttemptUnderWay(first.caller)
      yield* server.stop

      const again = asking(yield* start(settings))
      assert.strictEqual((yield* again.caller.read(message.id)).body.status, "sent")
      assert.lengthOf(yield* again.operator.sent, 1)
    }),
  )

  it.effect("starts again at once after it was killed, with all that it had accepted", () =>
    Effect.gen(function* () {
      const settings = yield* lasting
      const { asking, server } = yield* aFirstServer(settings)
      const { body } = yield* asking(server).caller.send("Hello")
      yield* server.kill
      const again = asking(yield* start(settings))
      yield* again.caller.until(body.id, "sent")
      assert.deepStrictEqual(yield* again.operator.sent, ["Hello"])
    }),
  )

  for (const made of ["lock", "db", "db/PG_VERSION", "db/global/pg_control"]) {
    it.effect(`starts after it was killed when its first start had come to ${made}`, () =>
      Effect.gen(function* () {
        const settings = yield* lasting
        const killed = yield* processes.start(program, settings)
        yield* processes.waitUntil(`there is ${made}`, exists(join(settings.DATA_DIR, made)))
        yield* killed.kill
        const { asking, server } = yield* aFirstServer(settings)
        const { body } = yield* asking(server).caller.send("Hello")
        yield* asking(server).caller.until(body.id, "sent")
      }),
    )
  }

  it.effect("refuses a second process on its directory in one line, and goes on", () =>
    Effect.gen(function* () {
      const settings = yield* lasting
      const { asking, server } = yield* aFirstServer(settings)
      const { ended } = yield* processes.start(program, settings)
      const { code, stderr, stdout } = yield* ended
      assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
      assert.match(stderr, /^DATA_DIR is in use by another process[^\n]*\n$/)
      const { body } = yield* asking(server).caller.send("Hello")
      yield* asking(server).caller.until(body.id, "sent")
    }),
  )

  it.effect("an adjustable clock goes on from where it was moved to", () =>
    Effect.gen(function* () {
      const settings = { ...(yield* lasting), CLOCK: "adjustable" }
      const { asking, server } = yield* aFirstServer(settings)
      const moved = yield* asking(server).operator.advance(86_400)
      assert.strictEqual(moved.status, 200)
      yield* server.stop
      const again = asking(yield* start(settings))
      assert.isAtLeast(Date.parse(yield* again.operator.now), Date.parse(moved.body.now))
    }),
  )
})
