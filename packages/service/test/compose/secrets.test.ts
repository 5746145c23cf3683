/** Generated secrets in files of the data directory (contract: Configuration). */
import { assert, layer } from "@effect/vitest"
import { Ids } from "@messaging-service/core"
import { processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { readFile, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { storeSecret, loadOrMakeSecret } from "../../src/compose/DataDirectory.ts"
import type { SecretKind } from "../../src/compose/DataDirectory.ts"

const kind: SecretKind = {
  name: "a-secret",
  what: "secret of the test",
  make: (ids) => ids.alphanumeric(40),
  isUsable: (text) => /^[0-9A-Za-z]{40}$/.test(text),
  mend: () => "write another one",
}

layer(Ids.layerRandom)("a kept secret", (it) => {
  it.effect("is generated once, and the same ever after", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const first = yield* loadOrMakeSecret(directory, kind)
      const second = yield* loadOrMakeSecret(directory, kind)
      assert.isTrue(first.isNew)
      assert.isFalse(second.isNew)
      assert.match(Redacted.value(first.secret), /^[0-9A-Za-z]{40}$/)
      assert.strictEqual(Redacted.value(second.secret), Redacted.value(first.secret))
    }),
  )

  it.effect("is readable by the service's own user alone, with no other file left", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const { file, secret } = yield* loadOrMakeSecret(directory, kind)
      const { mode } = yield* Effect.promise(() => stat(file))
      assert.strictEqual(mode & 0o777, 0o600)
      const stored = yield* Effect.promise(() => readFile(file, "utf8"))
      assert.strictEqual(stored, `${Redacted.value(secret)}\n`)
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["a-secret"])
    }),
  )

  it.effect("is one secret, whichever of many processes comes first", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const all = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => loadOrMakeSecret(directory, kind),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(new Set(all.map(({ secret }) => Redacted.value(secret))).size, 1)
      assert.strictEqual(all.filter(({ isNew }) => isNew).length, 1)
    }),
  )

  it.effect("a file that holds none stops the start, and the line names it and what to do", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      yield* Effect.promise(() => writeFile(join(directory, "a-secret"), "\n"))
      const { message } = yield* Effect.flip(loadOrMakeSecret(directory, kind))
      assert.match(message, /^DATA_DIR holds no .*secret of the test.*a-secret: write another one$/)
    }),
  )

  it.effect("a directory that is not there stops the start", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const { message } = yield* Effect.flip(loadOrMakeSecret(join(directory, "missing"), kind))
      assert.match(message, /^DATA_DIR cannot keep the secret of the test: .*ENOENT/)
    }),
  )

  it.effect("that was made elsewhere takes the place of the one before, as safely", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      yield* storeSecret(directory, kind, "the first")
      const file = yield* storeSecret(directory, kind, "the second")
      const { mode } = yield* Effect.promise(() => stat(file))
      assert.strictEqual(mode & 0o777, 0o600)
      assert.strictEqual(yield* Effect.promise(() => readFile(file, "utf8")), "the second\n")
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["a-secret"])
    }),
  )
})
