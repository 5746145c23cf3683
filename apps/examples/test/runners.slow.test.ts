/** `openTest` needs no runner of its own: a seed gives the same day under each of them. */
import { assert, it } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { bun } from "./packed/runtimes.ts"
import { aDay } from "./runners/aDay.ts"

const run = promisify(execFile)

const folder = join(import.meta.dirname, "runners")

/** Machines are noisy: only a hang takes so long. Milliseconds. */
const patienceMillis = 120_000

const jest = JSON.stringify({
  rootDir: folder,
  roots: [folder],
  testEnvironment: "node",
  testMatch: ["**/withGlobals.ts"],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": join(folder, "stripTypes.mjs") },
  cache: false,
  watchman: false,
  testTimeout: patienceMillis,
})

/** The command that runs a day under a runner, if this machine has it. */
const commands: Readonly<Record<string, ReadonlyArray<string> | null>> = {
  "node:test": [process.execPath, "--test", join(folder, "withNodeTest.ts")],
  Jest: [
    process.execPath,
    "--experimental-vm-modules",
    join(import.meta.dirname, "../node_modules/jest/bin/jest.js"),
    "--runInBand",
    "--config",
    jest,
  ],
  Bun:
    bun === null
      ? null
      : [bun, "test", "--timeout", String(patienceMillis), join(folder, "withGlobals.ts")],
}

for (const [name, command] of Object.entries(commands)) {
  it.effect.skipIf(command === null)(`a seed gives the same day under ${name} as here`, () =>
    Effect.gen(function* () {
      const day = join(yield* processes.temporaryDirectory, "day.json")
      const [program = "", ...args] = command ?? []
      const theirs = yield* Effect.promise(async () => {
        // A runner reports nothing to its vendor.
        const env = { ...process.env, DAY: day, DO_NOT_TRACK: "1" }
        await run(program, args, { cwd: folder, env })
        return readFile(day, "utf8")
      })
      const ours = yield* Effect.promise(() => aDay("a"))
      assert.strictEqual(theirs, ours)
      assert.notStrictEqual(ours, yield* Effect.promise(() => aDay("b")))
    }),
  )
}
