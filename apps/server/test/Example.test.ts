/** The output about the demonstration workspace (contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@messaging-service/core"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdir, readFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { exampleText, keepKeys } from "../src/Example.ts"

const example = { clientId: 1001, liveKey: "the-live-key", testKey: "the-test-key", keyV1: "old" }

describe("the output about the demonstration workspace", () => {
  for (const name of ["plain", "two words", "it's", 'a "$(name)" of `its` own']) {
    it.effect(`reads the key from a directory called ${name}`, () =>
      Effect.gen(function* () {
        const directory = join(yield* processes.temporaryDirectory, name)
        yield* Effect.promise(() => mkdir(directory))
        const reported = yield* keepKeys(example, {
          dataDirectory: directory,
          store: { kind: "embedded" },
        })
        const text = exampleText(reported, "http://127.0.0.1:1", true)
        for (const key of [example.liveKey, example.testKey]) assert.notInclude(text, `${key}\n`)
        const [, argument = ""] = /-H ("Authorization: .+\)")/.exec(text) ?? []
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)("sh", ["-c", `printf %s ${argument}`]),
        )
        assert.strictEqual(stdout, "Authorization: Bearer the-live-key")
      }).pipe(Effect.provide(Ids.layerRandom)),
    )
  }

  it.effect("stores keys of a memory store next to a database's", () =>
    Effect.gen(function* () {
      const dataDirectory = yield* processes.temporaryDirectory
      const stored = yield* keepKeys(example, { dataDirectory, store: { kind: "embedded" } })
      const passing = yield* keepKeys(
        { ...example, liveKey: "passing" },
        { dataDirectory, store: { kind: "memory" } },
      )
      assert.strictEqual(passing.liveKey, join(dataDirectory, "example-live-key.memory"))
      const live = yield* Effect.promise(() => readFile(stored.liveKey, "utf8"))
      assert.strictEqual(live, "the-live-key\n")
      assert.lengthOf(yield* Effect.promise(() => readdir(dataDirectory)), 6)
    }).pipe(Effect.provide(Ids.layerRandom)),
  )
})
