/** The server as one bundle (`pnpm bundle`), on a machine that has nothing of the workspace. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { cp } from "node:fs/promises"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { forgetful } from "./aServer.ts"

const root = resolve(import.meta.dirname, "../../..")

describe("the bundled server", () => {
  it.effect("keeps messages in its embedded database, with no packages beside it", () =>
    Effect.gen(function* () {
      const elsewhere = yield* processes.temporaryDirectory
      yield* Effect.promise(async () => {
        const rolldown = join(root, "node_modules/rolldown/bin/cli.mjs")
        await promisify(execFile)(process.execPath, [rolldown, "-c"], { cwd: root })
        await cp(join(root, "dist/server"), elsewhere, { recursive: true })
      })
      const { DATA_DIR, PORT } = yield* forgetful
      const server = yield* processes.startServer(join(elsewhere, "main.js"), { DATA_DIR, PORT })
      const { liveKey = "" } = yield* processes.keptSecrets(yield* server.stdout)
      const caller = processes.aCaller(server.url, liveKey)
      const { body } = yield* caller.send("Hello")
      yield* caller.until(body.id, "sent")
      assert.strictEqual((yield* server.stop).code, 0)
    }),
  )
})
