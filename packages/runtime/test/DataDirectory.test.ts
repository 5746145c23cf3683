/** The data directory of a process (operator API: `DATA_DIR`). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { holdAlone, openDataDirectory, passingDirectory } from "../src/DataDirectory.ts"

describe("the data directory", () => {
  it.effect("is made with all that leads to it, for the service's own user alone", () =>
    Effect.gen(function* () {
      const directory = join(yield* processes.temporaryDirectory, "deep", "data")
      yield* openDataDirectory(directory)
      const { mode } = yield* Effect.promise(() => stat(directory))
      assert.strictEqual(mode & 0o777, 0o700)
      // A later start finds it.
      yield* openDataDirectory(directory)
    }),
  )

  it.effect("a place where none can be is said in one line that names DATA_DIR", () =>
    Effect.gen(function* () {
      const file = join(yield* processes.temporaryDirectory, "file")
      yield* Effect.promise(() => writeFile(file, ""))
      const { message } = yield* Effect.flip(openDataDirectory(join(file, "data")))
      assert.match(message, /^DATA_DIR cannot be written to: [^\n]+$/)
    }),
  )

  it.effect("is held by one at a time, and free again when that one is done", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* holdAlone(directory)
          const { message } = yield* Effect.flip(Effect.scoped(holdAlone(directory)))
          assert.match(message, /^DATA_DIR is in use by another process/)
        }),
      )
      yield* Effect.scoped(holdAlone(directory))
    }),
  )

  it.effect("lends directories that go when they are no longer used", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          const [one, other] = [
            yield* passingDirectory(directory),
            yield* passingDirectory(directory),
          ]
          assert.notStrictEqual(one, other)
          yield* Effect.promise(() => writeFile(join(one, "file"), ""))
        }),
      )
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), [])
      const { message } = yield* Effect.flip(
        Effect.scoped(passingDirectory(join(directory, "missing"))),
      )
      assert.match(message, /^DATA_DIR cannot be written to: [^\n]+$/)
    }),
  )
})
