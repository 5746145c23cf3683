/** Directories that tests remove again. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readdir, utimes } from "node:fs/promises"
import { join } from "node:path"
import { removeLeft, getTemporaryDirectory } from "../src/temporary.ts"

it.live("are gone with their scope", () =>
  Effect.gen(function* () {
    const created = yield* Effect.scoped(
      Effect.gen(function* () {
        const directory = yield* getTemporaryDirectory()
        yield* Effect.promise(() => mkdir(join(directory, "database")))
        return [directory, yield* getTemporaryDirectory({ onDisk: true })]
      }),
    )
    assert.deepStrictEqual(
      created.map((directory) => existsSync(directory)),
      [false, false],
    )
  }),
)

it.live("of a killed process go an hour later, and nothing else", () =>
  Effect.gen(function* () {
    const parent = yield* getTemporaryDirectory()
    const { pid } = spawnSync(process.execPath, ["--version"])
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const kept = [
      ["messaging-test-notes", 2],
      [`messaging-test-${pid}-young`, 0],
      [`messaging-test-${process.pid}-old`, 2],
      [`others-messaging-test-${pid}-old`, 2],
    ] as const
    const left = [`messaging-test-${pid}-old`, 2] as const
    for (const [name, hours] of [...kept, left]) {
      const directory = join(parent, name)
      const seconds = now / 1000 - hours * 3600
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "database"), { recursive: true })
        await utimes(directory, seconds, seconds)
      })
    }
    yield* Effect.promise(() => removeLeft(parent))
    assert.sameMembers(
      yield* Effect.promise(() => readdir(parent)),
      kept.map(([name]) => name),
    )
  }),
)
