/** Webhooks of a server and a worker as two processes on one PostgreSQL, and of a killed worker. */
import { assert, layer } from "@effect/vitest"
import { deliveryLeaseMillis } from "@messaging-service/core"
import { EmbeddedPostgres, listenOnLoopback, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { createServer } from "node:http"
import type { ServerResponse } from "node:http"
import { passTime, withDatabase } from "./crash/books.ts"
import { programs } from "./programs.ts"

/** A receiver on loopback. Unanswered calls stay open. */
const aReceiver = Effect.gen(function* () {
  const eventIds: Array<string> = []
  const receiver = {
    url: "",
    eventIds,
    answer: (response: ServerResponse): void => void response.writeHead(204).end(),
  }
  const server = createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      eventIds.push(String(request.headers["service-event-id"]))
      receiver.answer(response)
    })
  })
  receiver.url = `${yield* listenOnLoopback(server)}/hook`
  return receiver
})

const operatorToken = "operator-token-of-the-webhook-tests"

/** A server on a new database with an endpoint at the receiver, and a way to start separate workers. */
const aStage = Effect.gen(function* () {
  const database = yield* (yield* EmbeddedPostgres).createDatabase()
  const settings = {
    PORT: "0",
    DATABASE_URL: Redacted.value(database.url),
    DATA_DIR: yield* processes.temporaryDirectory,
    OPERATOR_TOKEN: operatorToken,
    WORKER: "separate",
    CLOCK: "adjustable",
    ALLOW_PRIVATE_TARGETS: "true",
  }
  const server = yield* processes.startServer(programs.server, settings)
  const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
  const receiver = yield* aReceiver
  const created = yield* processes.call("POST", `${server.url}/api/v2/webhooks`, {
    token: liveKey,
    body: { url: receiver.url },
  })
  assert.strictEqual(created.status, 201)
  const startWorker = Effect.gen(function* () {
    const worker = yield* processes.start(programs.worker, settings)
    yield* worker.awaitOutput(/^worker ready \(version [\d.]+\)$/m)
    return worker
  })
  const arrived = (count: number) =>
    processes.waitUntil(
      `${count} deliveries have come`,
      Effect.sync(() => (receiver.eventIds.length >= count ? receiver.eventIds : undefined)),
    )
  return {
    database,
    receiver,
    arrived,
    startWorker,
    caller: processes.aCaller(server.url, liveKey),
    operator: processes.anOperator(server.url, operatorToken),
  }
})

layer(EmbeddedPostgres.layer())("a server and a worker", (it) => {
  it.effect("the worker delivers events of its sends, and of the server's cancellations", () =>
    Effect.gen(function* () {
      const { arrived, caller, operator, receiver, startWorker } = yield* aStage
      yield* startWorker
      yield* caller.send("Hello")
      yield* arrived(1)
      const now = yield* operator.now
      const later = new Date(Date.parse(now) + 3_600_000).toISOString()
      const { body } = yield* caller.send("later", { send_at: later })
      yield* caller.cancel(body.id)
      yield* arrived(2)
      assert.strictEqual(new Set(receiver.eventIds).size, 2)
    }),
  )

  it.effect("the next worker repeats a killed worker's call, with the same event", () =>
    Effect.gen(function* () {
      const { arrived, caller, database, operator, receiver, startWorker } = yield* aStage
      const first = yield* startWorker
      receiver.answer = () => undefined
      yield* caller.send("Hello")
      const [eventId] = yield* arrived(1)
      yield* first.kill
      receiver.answer = (response) => void response.writeHead(204).end()
      // The dead worker's lease is over.
      yield* withDatabase({ database })(passTime(deliveryLeaseMillis))
      yield* startWorker
      assert.deepStrictEqual(yield* arrived(2), [eventId, eventId])
      yield* operator.advance(3600)
      assert.lengthOf(receiver.eventIds, 2)
    }),
  )

  it.effect("a stopped worker ends its calls, and the next one does not repeat them", () =>
    Effect.gen(function* () {
      const { arrived, caller, operator, receiver, startWorker } = yield* aStage
      const first = yield* startWorker
      const unanswered: Array<ServerResponse> = []
      receiver.answer = (response) => unanswered.push(response)
      yield* caller.send("Hello")
      yield* arrived(1)
      yield* first.signal("SIGTERM")
      yield* Effect.promise(() => new Promise((done) => setTimeout(done, 200)))
      for (const response of unanswered) response.writeHead(204).end()
      const { code } = yield* first.ended
      assert.strictEqual(code, 0)
      yield* startWorker
      yield* operator.advance(3600)
      assert.lengthOf(receiver.eventIds, 1)
    }),
  )
})
