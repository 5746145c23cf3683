/** Thirty days of traffic with a retention of seven: a server's storage is flat after the first week. */
import { assert, layer } from "@effect/vitest"
import {
  EmbeddedPostgres,
  listenOnLoopback,
  processes,
  sizesOfDataDirectory,
  sizesOfDatabase,
} from "@messaging-service/testkit"
import type { TableSizes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { createServer } from "node:http"
import { resolve } from "node:path"
import { aDataDirectory, program } from "./aServer.ts"

const operatorToken = "operator-token-of-the-retention-tests"
const day = 24 * 3600
const retentionDays = 7
/** Only what hangs may run into it: the embedded database takes minutes for its thirty days. */
const longestMillis = 1_800_000
const liveADay = 40
const testADay = 10

const manifest = resolve(import.meta.dirname, "../../../packages/store-postgres/package.json")

/** A receiver on loopback that accepts every call. */
const aReceiver = Effect.suspend(() =>
  listenOnLoopback(
    createServer((request, response) => {
      request.resume()
      request.on("end", () => response.writeHead(204).end())
    }),
  ),
)

type Environment = Readonly<Record<string, string>>

/** Runs a server for so long, and stops it again. */
const withServer = <A, E>(
  environment: Environment,
  use: (server: processes.ServerProcess) => Effect.Effect<A, E>,
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* processes.startServer(program, {
        PORT: "0",
        OPERATOR_TOKEN: operatorToken,
        CLOCK: "adjustable",
        ALLOW_PRIVATE_TARGETS: "true",
        SEED_EXAMPLE: "false",
        RETENTION_DAYS: String(retentionDays),
        ...environment,
      })
      const answer = yield* use(server)
      yield* server.stop
      return answer
    }),
  )

const post = <Body>(url: string, token: string, body: unknown) =>
  Effect.map(processes.call<Body>("POST", url, { token, body }), (answer) => {
    assert.isBelow(answer.status, 300, `${url}: ${JSON.stringify(answer.body)}`)
    return answer.body
  })

/** A workspace with a number and keys; its events and callbacks go to the receiver. */
const prepare = ({ url }: processes.ServerProcess, receiver: string) =>
  Effect.gen(function* () {
    const { aKey, aKeyV1, aSender } = processes.anOperator(url, operatorToken)
    const { key: live, workspace } = yield* aSender()
    const test = yield* aKey(workspace, { mode: "test" })
    const first = yield* aKeyV1(workspace)
    for (const { key } of [live, test]) {
      yield* post(`${url}/api/v2/webhooks`, key, { url: `${receiver}/hook` })
    }
    return { id: workspace.id, live: live.key, test: test.key, first: first.key }
  })

type Prepared = Effect.Success<ReturnType<typeof prepare>>

const phones = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ phone: `+1555010${2000 + index}` }))

/** A day's messages, and then the day. */
const aDay = ({ url }: processes.ServerProcess, keys: Prepared, receiver: string) =>
  Effect.gen(function* () {
    const batch = `${url}/api/v2/messages/batch`
    yield* post(batch, keys.live, { to: phones(liveADay - 1), text: "Hello" })
    yield* post(batch, keys.test, { to: phones(testADay), text: "Hello" })
    yield* post(`${url}/api/v1/send_msg/`, keys.first, {
      client_id: keys.id,
      api_key: keys.first,
      phone: "+15550102999",
      msg: "Hello",
      webhook: `${receiver}/callback`,
    })
    yield* processes.anOperator(url, operatorToken).advance(day)
  })

/** The store's content after each ten days. */
const thirtyDays = (environment: Environment, check: Effect.Effect<TableSizes>) =>
  Effect.gen(function* () {
    const receiver = yield* aReceiver
    let keys: Prepared | undefined
    const received: Array<TableSizes> = []
    for (let part = 0; part < 3; part++) {
      keys = yield* withServer(environment, (server) =>
        Effect.gen(function* () {
          const created = keys ?? (yield* prepare(server, receiver))
          for (let count = 0; count < 10; count++) yield* aDay(server, created, receiver)
          return created
        }),
      )
      received.push(yield* check)
    }
    return received
  })

const assertFlat = (received: ReadonlyArray<TableSizes>) => {
  const [first, second, third] = received
  if (first === undefined || second === undefined || third === undefined) {
    return assert.fail("thirty days have three parts")
  }
  const aDaysMessages = liveADay + testADay
  for (const { rows } of received) {
    const stored = rows.get("messages") ?? 0
    assert.isAtLeast(stored, (retentionDays - 1) * aDaysMessages)
    assert.isAtMost(stored, (retentionDays + 1) * aDaysMessages)
  }
  for (const [table, rows] of third.rows) {
    // A day's events and attempts more or less, depending on the moment.
    const before = first.rows.get(table) ?? 0
    assert.isAtMost(rows, before + aDaysMessages, `${table}: ${before}, then ${rows}`)
  }
  assert.isAtMost(third.bytes, second.bytes * 1.05)
}

layer(EmbeddedPostgres.layer())("thirty days with a retention of seven", (it) => {
  it.effect(
    "are flat after the first week on PostgreSQL",
    () =>
      Effect.gen(function* () {
        const database = yield* (yield* EmbeddedPostgres).createDatabase()
        const environment = {
          DATABASE_URL: Redacted.value(database.url),
          DATA_DIR: yield* processes.temporaryDirectory,
        }
        assertFlat(yield* thirtyDays(environment, sizesOfDatabase(database)))
      }),
    longestMillis,
  )

  it.effect(
    "are flat after the first week on the embedded database",
    () =>
      Effect.gen(function* () {
        const DATA_DIR = yield* aDataDirectory
        assertFlat(yield* thirtyDays({ DATA_DIR }, sizesOfDataDirectory(manifest, DATA_DIR)))
      }),
    longestMillis,
  )
})
