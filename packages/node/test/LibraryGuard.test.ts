/** Errors of a guarded library, and of others, in a process of their own. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rolldown } from "rolldown"

/** A library that fails where no caller waits. */
const library = `
export const rejects = async () => { void Promise.resolve().then(() => { throw new Error("rejected") }) }
export const throws = async () => { setTimeout(() => { throw new Error("thrown") }, 1) }
`

const program = (text: string) => `
import { guard } from "./guarded.mjs"
import { rejects, throws } from "./node_modules/library/index.mjs"
const guarded = await guard((error) => console.log("ended: " + error.message))
setTimeout(() => console.log("lives"), 50)
${text}
`

const directory = mkdtempSync(join(tmpdir(), "guard-"))

// Ten processes load one file: the sources of all of core would take each of them ten times as long.
beforeAll(async () => {
  const input = join(import.meta.dirname, "guardedLibrary.ts")
  const bundle = await rolldown({ input, platform: "node" })
  await bundle.write({ file: join(directory, "guarded.mjs") })
  await mkdir(join(directory, "node_modules/library"), { recursive: true })
  await writeFile(join(directory, "node_modules/library/index.mjs"), library)
})

afterAll(() => {
  rmSync(directory, { recursive: true })
})

interface Ended {
  readonly code: unknown
  readonly out: string
  readonly err: string
}

/** The exit code and the output of a program. */
const run = (text: string) =>
  Effect.promise(async () => {
    const main = join(directory, "main.mjs")
    await writeFile(main, program(text))
    return new Promise<Ended>((resolve) => {
      execFile(process.execPath, [main], (error, out, err) => {
        resolve({ code: error === null ? 0 : error.code, out, err })
      })
    })
  })

const ends = `process.on("unhandledRejection", () => process.exit(3))
process.on("uncaughtException", () => process.exit(4))
`

it.live("errors of a guarded library end its work, and reach neither Node nor the program", () =>
  Effect.gen(function* () {
    for (const listeners of ["", ends]) {
      const { code, err, out } = yield* run(`${listeners}guarded(rejects); guarded(throws)`)
      const ended = out.split("\n").filter((line) => line.startsWith("ended"))
      assert.deepStrictEqual([code, ended], [0, ["ended: rejected", "ended: thrown"]])
      assert.include(out, "lives")
      assert.include(err + out, "a library failed where no caller waited")
      assert.notInclude(err + out, "\n    at ")
    }
  }),
)

it.live("all other errors end the process as they would without the guard", () =>
  Effect.gen(function* () {
    const foreign = [
      // The program's own, also where guarded work starts it.
      `void Promise.reject(new Error("mine"))`,
      `setTimeout(() => { throw new Error("mine") }, 1)`,
      `guarded(() => void Promise.reject(new Error("mine")))`,
      `guarded(() => void Promise.reject("mine"))`,
      // The program uses the library itself.
      `rejects()`,
      `throws()`,
    ]
    for (const text of foreign) {
      const { code, err, out } = yield* run(text)
      assert.deepStrictEqual([code, out], [1, ""], text)
      assert.match(err, /mine|rejected|thrown/, text)
    }
    assert.strictEqual((yield* run(`${ends}void Promise.reject(new Error("mine"))`)).code, 3)
    assert.strictEqual((yield* run(`${ends}throws()`)).code, 4)
  }),
)
