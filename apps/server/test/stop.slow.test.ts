/** Stopping a server: it finishes what is in flight, within 10 s, and ends with 0. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect, Exit, Fiber } from "effect"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { aServer, forgetful, program } from "./aServer.ts"

/** The listener waits 8.5 s for answers in flight. */
const atOnce = processes.tellsLateStop(8000)

/** A stop takes 10 s at most. */
const inTime = processes.tellsLateStop(10_000)

describe.concurrent("a server that receives a stop signal", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.effect(`ends with 0 on ${signal}, at once when nothing is in flight`, () =>
      Effect.gen(function* () {
        const server = yield* aServer(atOnce)
        const { body } = yield* server.caller.send("Hello")
        yield* server.caller.until(body.id, "sent")
        // The client keeps its connections; they do not delay the server.
        const { code, stderr } = yield* Effect.andThen(server.signal(signal), server.ended)
        assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
      }),
    )
  }

  it.effect("answers a request in flight, which waits for its attempt", () =>
    Effect.gen(function* () {
      const server = yield* aServer()
      yield* server.operator.behave(1, { send: "succeed", latency_ms: 2500 })
      const { cancelling } = yield* processes.anAttemptUnderWay(server.caller)
      const { code } = yield* server.stop
      const { body, status } = yield* Fiber.join(cancelling)
      assert.strictEqual(code, 0)
      assert.strictEqual(status, 409)
      assert.deepInclude((body as unknown as { readonly error: object }).error, {
        code: "not_cancellable",
        status: "sent",
      })
    }),
  )

  it.effect("abandons a phone that hangs, and a request that waits for it, in time", () =>
    Effect.gen(function* () {
      const server = yield* aServer(inTime)
      yield* server.operator.behave(1, { send: "hang" })
      yield* processes.anAttemptUnderWay(server.caller)
      const settling = yield* Effect.forkChild(
        Effect.exit(server.operator.request("POST", "/simulator/settle")),
      )
      // By then the request is there: requests start in the order in which they arrive.
      yield* processes.call("GET", `${server.url}/health/live`)
      const { code, stderr } = yield* server.stop
      assert.strictEqual(code, 0)
      assert.notInclude(stderr, "still running")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(settling)))
    }),
  )

  it.effect("ends with 0 also before it is ready", () =>
    Effect.gen(function* () {
      const settings = { ...(yield* forgetful), DATABASE_URL: "" }
      const starting = yield* processes.start(program, settings)
      yield* processes.waitUntil(
        "the database is being made",
        Effect.promise(() =>
          access(join(settings.DATA_DIR, "lock")).then(
            () => true,
            () => undefined,
          ),
        ),
      )
      const { code, stdout } = yield* starting.stop
      assert.strictEqual(code, 0)
      assert.notInclude(stdout, "listening")
    }),
  )
})
