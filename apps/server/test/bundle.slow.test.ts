/** The server as one bundle (`pnpm bundle`), on a machine without the workspace. */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { cp, readFile, readdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { forgetful, program } from "./aServer.ts"

describe("the bundled server", () => {
  it.effect("keeps messages in its embedded database, without any packages", () =>
    Effect.gen(function* () {
      const elsewhere = yield* processes.temporaryDirectory
      yield* Effect.promise(async () => {
        await cp(dirname(program), elsewhere, { recursive: true })
        // The unpacked cluster saves creating one.
        await writeFile(join(elsewhere, "initdb.wasm"), "")
      })
      const { DATA_DIR, PORT } = yield* forgetful
      const server = yield* processes.startServer(join(elsewhere, "main.js"), { DATA_DIR, PORT })
      const { liveKey = "" } = yield* processes.storedSecrets(yield* server.stdout)
      const caller = processes.aCaller(server.url, liveKey)
      const { body } = yield* caller.send("Hello")
      yield* caller.until(body.id, "sent")
      assert.strictEqual((yield* server.stop).code, 0)
    }),
  )

  it.effect("contains only characters that Node can keep in one byte each", () =>
    Effect.promise(async () => {
      const folder = dirname(program)
      const files = (await readdir(folder)).filter((name) => name.endsWith(".js"))
      assert.include(files, "main.js")
      for (const file of files) {
        assert.notMatch(await readFile(join(folder, file), "utf8"), /[^\u0000-\u00ff]/, file)
      }
    }),
  )
})
