/** The processes that serve, send and receive, for as long as a scope is open. */
import { processes } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { CheckFailed } from "../measuring/checks.ts"
import { startProgram } from "../measuring/programs.ts"
import type { LoadCommand, LoadReport } from "./httpLoad.ts"
import type { ReceiverCommand, ReceiverReport } from "./webhookReceiver.ts"

const httpApp = fileURLToPath(import.meta.resolve("./httpApp.ts"))
const attackedApp = fileURLToPath(import.meta.resolve("./attackedApp.ts"))

const serve = (program: string, database: TestDatabase, pool: number) =>
  Effect.gen(function* () {
    const server = yield* processes.start(program, {
      PGDATABASE: database.database,
      PGHOST: database.path,
      PGUSER: database.username,
      POOL_SIZE: String(pool),
    })
    const [, url = ""] = yield* server.awaitOutput(/listening on (http\S+)/)
    return url
  }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message })))

/** Serves the HTTP interface on the database with a pool of that size; returns its origin. */
export const serveHttp = (database: TestDatabase, pool: number) => serve(httpApp, database, pool)

/** The same through the listener of the apps, which counts what attackers make it hold. */
export const serveAttacked = (database: TestDatabase, pool: number) =>
  serve(attackedApp, database, pool)

/** Starts a process that sends; it answers each command when it is done. */
export const startLoad = Effect.map(
  startProgram(import.meta.resolve("./httpLoad.ts")),
  ({ request }) =>
    (command: LoadCommand) =>
      Effect.map(request(command), (report) => report as LoadReport),
)

/** Starts a process that receives webhooks; a command asks what came since the last one. */
export const startReceiver = Effect.gen(function* startReceiver() {
  const { request, next } = yield* startProgram(import.meta.resolve("./webhookReceiver.ts"))
  return {
    origin: String(yield* next),
    report: (command: ReceiverCommand) =>
      Effect.map(request(command), (report) => report as ReceiverReport),
  }
})
