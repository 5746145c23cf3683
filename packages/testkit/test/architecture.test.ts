/**
 * The linter checks the structure of the code; this suite checks the linter. Every rule gets a file
 * that breaks it and a neighbour that does not, in a copy of the workspace's layout outside the
 * repository. One run of the linter with the repository's own configuration judges them all.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"

import { breaches, permitted } from "./architectureSamples.ts"
import type { Sample } from "./architectureSamples.ts"

const root = resolve(import.meta.dirname, "../../..")

const Output = Schema.fromJsonString(
  Schema.Struct({
    diagnostics: Schema.Array(Schema.Struct({ code: Schema.String, filename: Schema.String })),
  }),
)

/** The linter's violated rules, by sample. */
class Judgement extends Context.Service<
  Judgement,
  { readonly rulesAgainst: (sample: Sample) => ReadonlyArray<string> }
>()("test/Judgement") {
  static readonly layer = Layer.effect(
    Judgement,
    Effect.gen(function* () {
      const samples = [...breaches, ...permitted]
      const toFileName = (sample: Sample) => `${sample.room}/sample${samples.indexOf(sample)}.ts`
      const house = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "architecture-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
      )
      yield* Effect.promise(async () => {
        await cp(join(root, ".oxlintrc.json"), join(house, ".oxlintrc.json"))
        await cp(join(root, ".oxlint"), join(house, ".oxlint"), { recursive: true })
        for (const sample of samples) {
          const file = join(house, toFileName(sample))
          await mkdir(dirname(file), { recursive: true })
          await writeFile(file, `${sample.source}\n`)
          if (sample.neighbour === undefined) continue
          await writeFile(join(dirname(file), "neighbour.ts"), sample.neighbour(basename(file)))
        }
      })
      const output = yield* Effect.callback<string>((resume) => {
        // A run with findings ends with a failure: only its output counts here.
        execFile(
          process.execPath,
          [join(root, "node_modules/oxlint/bin/oxlint"), "--format=json", "."],
          { cwd: house, maxBuffer: 16 * 1024 * 1024 },
          (_, stdout) => resume(Effect.succeed(stdout)),
        )
      })
      const { diagnostics } = yield* Schema.decodeEffect(Output)(output)
      return {
        rulesAgainst: (sample) =>
          diagnostics
            .filter(({ filename }) => filename === toFileName(sample))
            .map(({ code }) => code),
      }
    }),
  )
}

layer(Judgement.layer)("the linter", (it) => {
  for (const breach of breaches) {
    it.effect(`refuses ${breach.does}`, () =>
      Effect.gen(function* () {
        const { rulesAgainst } = yield* Judgement
        assert.deepStrictEqual(rulesAgainst(breach), [breach.rule])
      }),
    )
  }
  for (const sample of permitted) {
    it.effect(`allows ${sample.does}`, () =>
      Effect.gen(function* () {
        const { rulesAgainst } = yield* Judgement
        assert.deepStrictEqual(rulesAgainst(sample), [])
      }),
    )
  }
})

const Manifest = Schema.fromJsonString(
  Schema.Struct({ optionalDependencies: Schema.Record(Schema.String, Schema.String) }),
)

describe("the runtime", () => {
  it.effect("tests run on the Node that the lockfile names", () =>
    Effect.gen(function* () {
      const text = yield* Effect.promise(() => readFile(join(root, "package.json"), "utf8"))
      const { optionalDependencies } = yield* Schema.decodeEffect(Manifest)(text)
      const locked = optionalDependencies[`node-${process.platform}-${process.arch}`]
      // Platforms without a locked binary run on the machine's own Node.
      assert.strictEqual(process.versions.node, locked ?? process.versions.node)
    }),
  )
})
