/** Servers for tests: on a free port, with everything in a temporary directory. */
import { assert } from "@effect/vitest"
import { processes, putDataDirectory } from "@messaging-service/testkit"
import { Effect } from "effect"
import { join, resolve } from "node:path"

/** The output of `pnpm bundle`; the runner builds it before the first slow test. */
export const program = resolve(import.meta.dirname, "../../../dist/server/main.js")

/** The worker's. */
export const worker = resolve(import.meta.dirname, "../../../dist/worker/main.js")

/** Settings of a server with a memory store, in an empty directory. */
export const forgetful = Effect.map(processes.temporaryDirectory, (directory) => ({
  PORT: "0",
  DATABASE_URL: "memory:",
  DATA_DIR: join(directory, "data"),
}))

/** The data directory of a persistent server, with an empty database: creating one takes seconds. */
export const aDataDirectory = Effect.gen(function* () {
  const directory = join(yield* processes.temporaryDirectory, "data")
  yield* putDataDirectory(
    resolve(import.meta.dirname, "../../../packages/store-postgres/package.json"),
    directory,
  )
  return directory
})

/** A server with a memory store after its first start, with these additional settings. */
export const aServer = Effect.fnUntraced(function* (settings: Record<string, string> = {}) {
  const server = yield* processes.startServer(program, { ...(yield* forgetful), ...settings })
  const stored = yield* processes.storedSecrets(yield* server.stdout)
  return {
    ...server,
    stored,
    caller: processes.aCaller(server.url, stored.liveKey ?? ""),
    operator: processes.anOperator(
      server.url,
      settings["OPERATOR_TOKEN"] ?? stored.operatorToken ?? "",
    ),
  }
})

export interface FileBody {
  readonly id: number
  readonly url: string
  readonly size: number
}

/** Uploads a file to a server. */
export const upload = (url: string, key: string, bytes: Uint8Array) =>
  Effect.promise(async (signal) => {
    const body = new FormData()
    body.append("file", new Blob([new Uint8Array(bytes)]), "report.bin")
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${url}/api/v2/media`, { method: "POST", headers, body, signal })
    assert.strictEqual(answer.status, 201)
    return (await answer.json()) as FileBody
  })
