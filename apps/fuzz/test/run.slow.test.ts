/**
 * CI's run of the fuzzer, against the unchanged server, on the memory store. Each kind of cell
 * occurs once in sixteen of 200 requests.
 */
import { assert, describe, it } from "@effect/vitest"
import { bySize } from "@messaging-service/testkit"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { resolve } from "node:path"

const { NODE_COMPILE_CACHE, PATH } = process.env

const program = resolve(import.meta.dirname, "../src/main.ts")

const fuzz = (...options: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number; readonly text: string }>((resume) => {
    const child = execFile(
      process.execPath,
      [program, ...options],
      { env: { NODE_COMPILE_CACHE, PATH }, maxBuffer: 1e8 },
      (error, stdout, stderr) =>
        resume(Effect.succeed({ code: error === null ? 0 : 1, text: stdout + stderr })),
    )
    return Effect.sync(() => child.kill("SIGTERM"))
  })

const requests = bySize({ change: 800, all: 3200, night: 10_000 })

describe(`${requests.toLocaleString("en")} requests`, () => {
  it.effect("find nothing that the document and the contract do not allow", () =>
    Effect.gen(function* () {
      const { code, text } = yield* fuzz("--seed", "1", "--requests", String(requests))
      assert.strictEqual(code, 0, text)
      assert.match(text, new RegExp(`^${requests} requests`, "m"))
      assert.match(text, /^distinct failures: 0$/m)
    }),
  )
})
