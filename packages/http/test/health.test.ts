import { assert, layer } from "@effect/vitest"
import { MediaFiles, MediaFilesError, RealTime, StoreUnavailable } from "@messaging-service/core"
import { Clock, Duration, Effect, Layer } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService } from "./Service.ts"
import { storeChanged } from "@messaging-service/testkit"

/** How the store answers a ping; a test sets it. */
let ping: Effect.Effect<void, StoreUnavailable> = Effect.void

const moodyStore = storeChanged(({ system: store }) => ({
  system: { ...store, ping: Effect.suspend(() => ping) },
}))

/** The result of writing to the disk; a test sets it. */
let writing: Effect.Effect<void, MediaFilesError> = Effect.void

const moodyDisk = Layer.effect(
  MediaFiles,
  Effect.map(MediaFiles, (files) =>
    MediaFiles.of({ ...files, ready: Effect.suspend(() => writing) }),
  ),
)

/** The two seconds of the time limit pass as soon as nothing else can run; all other timers keep waiting. */
const hastyTime = Layer.succeed(RealTime, {
  sleep: (duration) =>
    Duration.toSeconds(Duration.fromInputUnsafe(duration)) === 2
      ? Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      : Effect.never,
  stopwatch: Effect.succeed(() => 0),
  clockJumped: Effect.never,
  systemMillis: Clock.currentTimeMillis,
})

const paths = ["/health/live", "/health/ready"]

layer(layerService({ ports: Layer.mergeAll(moodyStore, moodyDisk, hastyTime) }))("health", (it) => {
  it.effect("is ok without any credentials, with HEAD and a trailing slash too", () =>
    Effect.gen(function* () {
      const { socket, web } = yield* HttpTestClients
      for (const client of [socket, web]) {
        for (const path of paths) {
          const answer = yield* client.call({ path })
          assert.strictEqual(answer.status, 200)
          assert.strictEqual(answer.text, '{"status":"ok"}')
          const head = yield* client.call({ path: `${path}/?x=%`, method: "HEAD" })
          assert.deepStrictEqual([head.status, head.text], [200, ""])
        }
      }
    }),
  )

  for (const [what, outcome] of [
    ["does not answer", Effect.fail(new StoreUnavailable({ operation: "ping", cause: null }))],
    ["fails in a way of its own", Effect.die(new Error("a bug"))],
    ["keeps silent", Effect.never],
  ] as const) {
    it.effect(`a store that ${what} is unavailable, while the process lives on`, () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        ping = outcome
        const ready = yield* socket.call({ path: "/health/ready" })
        assert.strictEqual(ready.status, 503)
        assert.strictEqual(ready.text, '{"status":"unavailable"}')
        assert.strictEqual((yield* socket.call({ path: "/health/live" })).status, 200)
        ping = Effect.void
        assert.strictEqual((yield* socket.call({ path: "/health/ready" })).status, 200)
      }),
    )
  }

  for (const [what, outcome] of [
    ["takes nothing", Effect.fail(new MediaFilesError({ reason: "full" }))],
    ["keeps silent", Effect.never],
  ] as const) {
    it.effect(`a disk that ${what} is unavailable, while the process lives on`, () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        writing = outcome
        const ready = yield* socket.call({ path: "/health/ready" })
        assert.deepStrictEqual([ready.status, ready.text], [503, '{"status":"unavailable"}'])
        assert.strictEqual((yield* socket.call({ path: "/health/live" })).status, 200)
        writing = Effect.void
        assert.strictEqual((yield* socket.call({ path: "/health/ready" })).status, 200)
      }),
    )
  }

  it.effect("knows no other method or path", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const wrong = yield* socket.call({ method: "POST", path: "/health/live", body: "{}" })
      assert.strictEqual(errorBody(wrong).code, "method_not_allowed")
      const unknown = yield* socket.call({ path: "/health/well" })
      assert.strictEqual(errorBody(unknown).code, "not_found")
    }),
  )
})
