/** The data directory of a process (`DATA_DIR`; contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { chmod, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import {
  restrictDataDirectory,
  lockDirectory,
  openDataDirectory,
  temporaryDirectory,
} from "../../src/compose/DataDirectory.ts"

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

  it.effect("that is a file, or below one, or can hold nothing, is refused at once", () =>
    Effect.gen(function* () {
      const file = join(yield* processes.temporaryDirectory, "file")
      yield* Effect.promise(() => writeFile(file, ""))
      // Linux has directories where even root can create nothing.
      const odd = process.platform === "linux" ? ["/proc", "/proc/x", "/proc/x/y"] : []
      for (const directory of [file, join(file, "data"), ...odd]) {
        const { message } = yield* Effect.flip(openDataDirectory(directory))
        assert.match(message, /^DATA_DIR cannot be written to: ./, directory)
      }
    }),
  )

  /** Creates these files and directories, open to every user, and returns their later modes. */
  const standing = (
    directory: string,
    directories: ReadonlyArray<string>,
    files: ReadonlyArray<string>,
  ) =>
    Effect.promise(async () => {
      for (const name of directories) await mkdir(join(directory, name), { recursive: true })
      for (const name of files) await writeFile(join(directory, name), "")
      for (const name of directories) await chmod(join(directory, name), 0o777)
      for (const name of files) await chmod(join(directory, name), 0o666)
      return Effect.promise(async () => {
        const modes: Record<string, string> = {}
        for (const name of [...directories, ...files]) {
          modes[name] = ((await stat(join(directory, name))).mode & 0o777).toString(8)
        }
        return modes
      })
    })

  it.effect("that was there before is closed to other users, with all that is in it", () =>
    Effect.gen(function* () {
      const temporary = yield* processes.temporaryDirectory
      const outside = join(temporary, "outside")
      const directory = join(temporary, "data")
      const files = ["operator-token", "secrets-key.0123456789abcdef", "lock", "db/deep/table"]
      const modes = yield* standing(directory, ["", "db", "db/deep", "media"], files)
      yield* Effect.promise(async () => {
        await writeFile(outside, "")
        await chmod(outside, 0o644)
        await symlink(outside, join(directory, "db", "link"))
      })
      yield* openDataDirectory(directory)
      assert.deepStrictEqual(yield* modes, {
        "": "700",
        db: "700",
        "db/deep": "700",
        media: "700",
        "operator-token": "600",
        "secrets-key.0123456789abcdef": "600",
        lock: "600",
        "db/deep/table": "600",
      })
      // The link's target does not belong to the service.
      const { mode } = yield* Effect.promise(() => stat(outside))
      assert.strictEqual(mode & 0o777, 0o644)
    }),
  )

  it.effect("that holds other files leaves those as they are, and denies others writing", () =>
    Effect.gen(function* () {
      const directory = join(yield* processes.temporaryDirectory, "data")
      const modes = yield* standing(
        directory,
        ["", "media", "public", "database"],
        ["secrets-key", "public/logo.png", "orders.csv", "secrets-key.txt"],
      )
      yield* openDataDirectory(directory)
      assert.deepStrictEqual(yield* modes, {
        "": "755",
        media: "700",
        public: "777",
        database: "777",
        "secrets-key": "600",
        "public/logo.png": "666",
        "orders.csv": "666",
        "secrets-key.txt": "666",
      })
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
      const { message } = yield* Effect.flip(restrictDataDirectory(directory, refused))
      assert.strictEqual(
        message,
        "DATA_DIR is open to other users and cannot be closed to them: EPERM: operation not permitted",
      )
      // Closed files stay unchanged.
      yield* Effect.promise(() => chmod(directory, 0o700))
      yield* restrictDataDirectory(directory, refused)
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

  it.effect("is locked by one at a time, reports it to others, and is free again afterwards", () =>
    Effect.gen(function* () {
      const above = yield* processes.temporaryDirectory
      const directory = join(above, "data")
      const link = join(above, "link")
      yield* Effect.promise(() => mkdir(directory))
      yield* Effect.promise(() => symlink(directory, link))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* lockDirectory(directory)
          for (const path of [directory, link]) {
            const { message } = yield* Effect.flip(Effect.scoped(lockDirectory(path)))
            assert.strictEqual(
              message,
              `DATA_DIR is in use by another service of this process: ${path}`,
            )
          }
        }),
      )
      yield* Effect.scoped(lockDirectory(directory))
    }),
  )

  it.effect("lends directories that go when they are no longer used", () =>
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          const [one, other] = [
            yield* temporaryDirectory(directory),
            yield* temporaryDirectory(directory),
          ]
          assert.notStrictEqual(one, other)
          yield* Effect.promise(() => writeFile(join(one, "file"), ""))
        }),
      )
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), [])
      const { message } = yield* Effect.flip(
        Effect.scoped(temporaryDirectory(join(directory, "missing"))),
      )
      assert.match(message, /^DATA_DIR cannot be written to: [^\n]+$/)
    }),
  )
})
