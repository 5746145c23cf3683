/**
 * The controls that wait for the service to be idle (`settle`, `clock/advance`; contract: Emulator
 * controls) on one PostgreSQL, with the worker inside the server and with separate workers.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { programs } from "./programs.ts"

const operatorToken = "operator-token-of-the-settle-tests"

/** Enough to keep two workers busy for a while. */
const messages = 60

/** A server on a new database with that many separate workers; with none, its own works. */
const aService = Effect.fnUntraced(function* (workers: number) {
  const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
  const settings = {
    PORT: "0",
    DATABASE_URL: Redacted.value(url),
    DATA_DIR: yield* processes.temporaryDirectory,
    OPERATOR_TOKEN: operatorToken,
    WORKER: workers === 0 ? "inline" : "separate",
    CLOCK: "adjustable",
  }
  const server = yield* processes.startServer(programs.server, settings)
  const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
  for (let started = 0; started < workers; started++) {
    const worker = yield* processes.start(programs.worker, settings)
    yield* worker.awaitOutput(/^worker ready \(version [\d.]+\)$/m)
  }
  const operator = processes.anOperator(server.url, operatorToken)

  /** Sends the lane's messages in one batch; returns the last one's status after `wait`. */
  const statusAfter = Effect.fnUntraced(function* <E>(
    more: Readonly<Record<string, unknown>>,
    wait: Effect.Effect<{ readonly status: number }, E>,
  ) {
    const accepted = yield* processes.call<{
      readonly data: ReadonlyArray<{ readonly id: number }>
    }>("POST", `${server.url}/api/v2/messages/batch`, {
      token: liveKey,
      body: {
        to: Array.from({ length: messages }, () => ({ phone: "+15550100002" })),
        text: "Hello",
        ...more,
      },
    })
    assert.strictEqual(accepted.status, 202)
    assert.strictEqual((yield* wait).status, 200)
    const last = accepted.body.data.at(-1)?.id ?? 0
    const { body } = yield* processes.call<processes.ObservedMessage>(
      "GET",
      `${server.url}/api/v2/messages/${last}`,
      { token: liveKey },
    )
    return body.status
  })
  return { operator, statusAfter }
})

layer(EmbeddedPostgres.layer())("a long lane", (it) => {
  for (const [where, workers] of [
    ["the worker in the server", 0],
    ["two workers next to the server", 2],
  ] as const) {
    it.effect(`settle answers when ${where} emptied it`, () =>
      Effect.gen(function* () {
        const { operator, statusAfter } = yield* aService(workers)
        const settle = operator.request("POST", "/simulator/settle")
        assert.strictEqual(yield* statusAfter({}, settle), "sent")
      }),
    )
  }

  it.effect("time stops at the due moment until two workers have emptied it", () =>
    Effect.gen(function* () {
      const { operator, statusAfter } = yield* aService(2)
      const send_at = new Date(Date.parse(yield* operator.now) + 3_600_000).toISOString()
      assert.strictEqual(yield* statusAfter({ send_at }, operator.advance(3601)), "sent")
    }),
  )
})
