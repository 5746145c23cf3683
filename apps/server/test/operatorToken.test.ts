/** The generated operator token (operator API: `OPERATOR_TOKEN`). */
import { assert, layer } from "@effect/vitest"
import { Ids } from "@messaging-service/core"
import { processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { readFile, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { keptOperatorToken } from "../src/operatorToken.ts"

layer(Ids.layerRandom)("the kept operator token", (it) => {
  it.effect("is generated once, and the same ever after", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const first = yield* keptOperatorToken(directory)
      const second = yield* keptOperatorToken(directory)
      assert.isTrue(first.isNew)
      assert.isFalse(second.isNew)
      assert.match(Redacted.value(first.token), /^[0-9A-Za-z]{40}$/)
      assert.strictEqual(Redacted.value(second.token), Redacted.value(first.token))
    }),
  )

  it.effect("is kept for the service's own user alone, with nothing left beside it", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const { file, token } = yield* keptOperatorToken(directory)
      const { mode } = yield* Effect.promise(() => stat(file))
      assert.strictEqual(mode & 0o777, 0o600)
      const kept = yield* Effect.promise(() => readFile(file, "utf8"))
      assert.strictEqual(kept, `${Redacted.value(token)}\n`)
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["operator-token"])
    }),
  )

  it.effect("is one token, whichever of many processes comes first", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const all = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => keptOperatorToken(directory),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(new Set(all.map(({ token }) => Redacted.value(token))).size, 1)
      assert.strictEqual(all.filter(({ isNew }) => isNew).length, 1)
    }),
  )

  it.effect("a file without a token stops the start, and the line names it", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const file = join(directory, "operator-token")
      yield* Effect.promise(() => writeFile(file, "\n"))
      const { message } = yield* Effect.flip(keptOperatorToken(directory))
      assert.match(message, /^DATA_DIR .*operator-token/)
    }),
  )

  it.effect("a directory that is not there stops the start", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const { message } = yield* Effect.flip(keptOperatorToken(join(directory, "missing")))
      assert.match(message, /^DATA_DIR cannot keep the operator token: .*ENOENT/)
    }),
  )
})
