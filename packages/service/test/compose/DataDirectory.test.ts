/** The data directory of a process (`DATA_DIR`; contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { chmod, lstat, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import {
  closeDataDirectory,
  holdAlone,
  openDataDirectory,
  passingDirectory,
} from "../../src/compose/DataDirectory.ts"
import { layerStorage } from "../../src/compose/Storage.ts"

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

  it.effect("that was there before is closed to other users, with all that is in it", () =>
    Effect.gen(function* () {
      const temporary = yield* processes.temporaryDirectory
      const outside = join(temporary, "outside")
      const directory = join(temporary, "data")
      yield* Effect.promise(async () => {
        await writeFile(outside, "")
        await chmod(outside, 0o644)
        await mkdir(join(directory, "db", "deep"), { recursive: true })
        await writeFile(join(directory, "token"), "secret")
        await writeFile(join(directory, "db", "deep", "table"), "")
        await symlink(outside, join(directory, "link"))
        for (const name of ["", "db", "db/deep"]) await chmod(join(directory, name), 0o777)
        for (const name of ["token", "db/deep/table"]) await chmod(join(directory, name), 0o666)
      })
      yield* openDataDirectory(directory)
      const modes = yield* Effect.promise(() =>
        Promise.all(
          ["", "db", "db/deep", "token", "db/deep/table", "link"].map(async (name) => {
            const { mode } = await stat(join(directory, name))
            return (mode & 0o777).toString(8)
          }),
        ),
      )
      // The last one is what the link leads to, which is not the service's.
      assert.deepStrictEqual(modes, ["700", "700", "700", "600", "600", "644"])
    }),
  )

  it.effect("behind a link is closed as well", () =>
    Effect.gen(function* () {
      const temporary = yield* processes.temporaryDirectory
      const real = join(temporary, "real")
      yield* Effect.promise(async () => {
        await mkdir(real)
        await chmod(real, 0o755)
        await symlink(real, join(temporary, "data"))
      })
      yield* openDataDirectory(join(temporary, "data"))
      const { mode } = yield* Effect.promise(() => stat(real))
      assert.strictEqual(mode & 0o777, 0o700)
    }),
  )

  it.effect("that cannot be closed stops the start with one line that says why", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      yield* Effect.promise(() => chmod(directory, 0o755))
      const refused = () => Promise.reject(new Error("EPERM: operation not permitted\nmore"))
      const { message } = yield* Effect.flip(closeDataDirectory(directory, refused))
      assert.strictEqual(
        message,
        "DATA_DIR is open to other users and cannot be closed to them: EPERM: operation not permitted",
      )
      // What is closed already is not changed.
      yield* Effect.promise(() => chmod(directory, 0o700))
      yield* closeDataDirectory(directory, refused)
    }),
  )

  it.effect(
    "of an embedded store holds nothing that other users may read or write",
    () =>
      Effect.gen(function* () {
        const directory = join(yield* processes.temporaryDirectory, "data")
        yield* openDataDirectory(directory)
        yield* Layer.build(layerStorage({ dataDirectory: directory, store: { kind: "embedded" } }))
        const names = yield* Effect.promise(() => readdir(directory, { recursive: true }))
        assert.isAbove(names.length, 900)
        const open = yield* Effect.promise(async () => {
          const found: Array<string> = []
          for (const name of ["", ...names]) {
            const { mode } = await lstat(join(directory, name))
            if ((mode & 0o077) !== 0) found.push(`${name} ${(mode & 0o777).toString(8)}`)
          }
          return found
        })
        assert.deepStrictEqual(open, [])
      }),
    60_000,
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
