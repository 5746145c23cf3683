/** The processes that serve, send and receive, for as long as a scope is open. */
import { processes } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { CheckFailed } from "../measuring/checks.ts"
import type { LoadOrder, LoadReport } from "./LoadOrder.ts"
import type { ReceiverOrder, ReceiverReport } from "./ReceiverOrder.ts"

const httpApp = fileURLToPath(import.meta.resolve("./httpApp.ts"))
const attackedApp = fileURLToPath(import.meta.resolve("./attackedApp.ts"))
const httpLoad = fileURLToPath(import.meta.resolve("./httpLoad.ts"))
const webhookReceiver = fileURLToPath(import.meta.resolve("./webhookReceiver.ts"))

const serve = (program: string, database: TestDatabase, pool: number) =>
  Effect.gen(function* () {
    const server = yield* processes.start(program, {
      PG_DATABASE: database.database,
      PG_PATH: database.path,
      PG_USER: database.username,
      PG_POOL: String(pool),
    })
    const [, url = ""] = yield* server.says(/listening on (http\S+)/)
    return url
  }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message })))

/** Serves the HTTP interface on the database with a pool of that size; returns its origin. */
export const serveHttp = (database: TestDatabase, pool: number) => serve(httpApp, database, pool)

/** The same through the listener of the apps, which counts what attackers make it hold. */
export const serveAttacked = (database: TestDatabase, pool: number) =>
  serve(attackedApp, database, pool)

/**
 * Starts a program that answers each line of its standard input with one of JSON. `next` reads a
 * line that it says by itself.
 */
const startProgram = (program: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const child = spawn(process.execPath, [program], {
          stdio: ["pipe", "pipe", "inherit"],
        })
        const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
        return { child, lines }
      }),
      ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
    ),
    ({ child, lines }) => {
      const next = Effect.tryPromise({
        try: async () => {
          const { value } = await lines.next()
          return JSON.parse(value ?? "") as unknown
        },
        catch: (cause) => new CheckFailed({ message: `${program}: ${String(cause)}` }),
      })
      const ask = (order: unknown) =>
        Effect.andThen(
          Effect.sync(() => child.stdin.write(`${JSON.stringify(order)}\n`)),
          next,
        )
      return { next, ask }
    },
  )

/** Starts a process that sends; each order is answered when it is done. */
export const startLoad = Effect.map(
  startProgram(httpLoad),
  ({ ask }) =>
    (order: LoadOrder) =>
      Effect.map(ask(order), (report) => report as LoadReport),
)

/** Starts a process that receives webhooks; an order asks what came since the last one. */
export const startReceiver = Effect.gen(function* startReceiver() {
  const { ask, next } = yield* startProgram(webhookReceiver)
  return {
    origin: String(yield* next),
    report: (order: ReceiverOrder) => Effect.map(ask(order), (report) => report as ReceiverReport),
  }
})
