/** The processes that serve and send, for as long as a scope is open. */
import { processes } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { CheckFailed } from "../measuring/Comparison.ts"
import type { LoadOrder, LoadReport } from "./LoadOrder.ts"

const httpApp = fileURLToPath(import.meta.resolve("./httpApp.ts"))
const httpLoad = fileURLToPath(import.meta.resolve("./httpLoad.ts"))

/** Serves the HTTP interface on the database with a pool of that size; returns its origin. */
export const serveHttp = (database: TestDatabase, pool: number) =>
  Effect.gen(function* () {
    const server = yield* processes.start(httpApp, {
      PG_DATABASE: database.database,
      PG_PATH: database.path,
      PG_USER: database.username,
      PG_POOL: String(pool),
    })
    const [, url = ""] = yield* server.says(/listening on (http\S+)/)
    return url
  }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message })))

/** Starts a process that sends; each order is answered when it is done. */
export const startLoad = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [httpLoad], {
        stdio: ["pipe", "pipe", "inherit"],
      })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      return { child, lines }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
  ),
  ({ child, lines }) =>
    (order: LoadOrder): Effect.Effect<LoadReport, CheckFailed> =>
      Effect.tryPromise({
        try: async () => {
          child.stdin.write(`${JSON.stringify(order)}\n`)
          const { value } = await lines.next()
          return JSON.parse(value ?? "") as LoadReport
        },
        catch: (cause) => new CheckFailed({ message: `the process that sends: ${String(cause)}` }),
      }),
)
