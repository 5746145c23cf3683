/**
 * The programs of `docs/embedding.md` are the files in `src/embedding`, and each prints what the page says.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

const root = join(import.meta.dirname, "../../..")
const programs = join(import.meta.dirname, "../src/embedding")
const run = promisify(execFile)

/** The output of each program. */
const printed: Readonly<Record<string, RegExp>> = {
  "firstMessage.ts": /^Your order has left\. sent\n$/,
  "restart.ts": /^sent\n$/,
  "transaction.ts": /^Order 1 is refused: invalid_phone\nOrders: 2\nOrder 2 is placed\. sent\n$/,
  "repeated.ts":
    /^\{"message":(\d+),"repeated":false\}\n\{"message":\1,"repeated":true\}\nsent: 1\n$/,
  "moved.ts": /^moved: true\nthe old reminder is cancelled\n$/,
  "errors.ts": /^422 to\.phone to\.phone: [^\n]+\n$/,
  "events.ts": /^message\.sent \nmessage\.failed group_not_found\n2\n$/,
  "subscription.ts": /^message\.sent order 4711\n$/,
  "cronJob.ts": /^1 true true\n$/,
  "mounted.ts": /^200 shop\n$/,
  "express.ts": /^202 my own page\n$/,
  "portal.ts": /^302 https:\/\/shop\.example\.com\/messaging\/portal#code=…\n200 true\n$/,
}

layer(EmbeddedPostgres.layer({ settings: { synchronous_commit: "on" } }), {
  excludeTestServices: true,
})("the page on embedding", (it) => {
  it.effect("shows these programs, the first of them in the README too", () =>
    Effect.promise(async () => {
      const page = await readFile(join(root, "docs/embedding.md"), "utf8")
      const readme = await readFile(join(root, "README.md"), "utf8")
      const names = await readdir(programs)
      assert.sameMembers(names, Object.keys(printed))
      for (const name of names) {
        assert.include(page, `\`\`\`ts\n${await readFile(join(programs, name), "utf8")}\`\`\``)
      }
      const first = await readFile(join(programs, "firstMessage.ts"), "utf8")
      assert.include(readme, `\`\`\`ts\n${first}\`\`\``)
    }),
  )

  // A fresh copy of the repository has no built pages.
  it.effect("has the pages of the dashboard", () =>
    Effect.promise(async () => {
      if (existsSync(join(root, "packages/dashboard/files/manifest.json"))) return
      await run(process.execPath, [join(root, "packages/dashboard/build.ts")])
    }),
  )

  for (const [name, output] of Object.entries(printed)) {
    it.effect(`${name} prints the expected output and ends by itself`, () =>
      Effect.gen(function* () {
        const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
        const directory = yield* processes.temporaryDirectory
        const { stderr, stdout } = yield* Effect.promise(() =>
          run(process.execPath, [join(programs, name)], {
            env: { ...process.env, DATABASE_URL: Redacted.value(url), DATA_DIR: directory },
          }),
        )
        assert.match(stdout, output)
        assert.strictEqual(stderr, "")
      }),
    )
  }
})
