/** A wait for a program's output ends with the program, and shows all that it said. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { processes } from "../src/index.ts"

/** Starts a program of this text. */
const aProgram = Effect.fnUntraced(function* (text: string) {
  const file = join(yield* processes.temporaryDirectory, "program.mjs")
  yield* Effect.promise(() => writeFile(file, text))
  return yield* processes.start(file, {})
})

const complaint = (program: processes.ServiceProcess) =>
  Effect.map(Effect.flip(program.awaitOutput(/ready/)), ({ message }) => message)

describe("waiting for a line of a program", () => {
  it.effect("fails once the program ends without it, with all its output", () =>
    Effect.gen(function* () {
      const program = yield* aProgram(`
        console.log("started")
        console.error("no room")
        process.exitCode = 3
      `)
      const message = yield* complaint(program)
      assert.match(message, /ended before ready\nstarted\n\nno room\n$/)
      assert.strictEqual(yield* complaint(program), message)
      assert.strictEqual((yield* program.ended).code, 3)
    }),
  )

  it.effect("does not wait for a child that holds the program's output", () =>
    Effect.gen(function* () {
      const program = yield* aProgram(`
        import { spawn } from "node:child_process"
        const child = spawn("sleep", ["600"], { stdio: "inherit", detached: true })
        child.unref()
        console.log("child", child.pid)
      `)
      const [, child] = yield* program.awaitOutput(/child (\d+)/)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.kill(Number(child))))
      assert.match(yield* complaint(program), /ended before ready\nchild \d+\n/)
    }),
  )

  it.effect("finds what the program said last", () =>
    Effect.gen(function* () {
      const program = yield* aProgram(`console.log("word ".repeat(20_000) + "ready")`)
      yield* program.awaitOutput(/ready/)
      assert.lengthOf((yield* program.ended).stdout, 100_006)
    }),
  )
})
