/** One Node and one pnpm, exact, on every platform and in every command. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

const read = (file: string) =>
  Effect.promise(() => readFile(resolve(import.meta.dirname, "../../..", file), "utf8"))

interface Manifest {
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly devEngines: { readonly packageManager: { readonly version: string } }
}

const manifest = Effect.map(read("package.json"), (text) => JSON.parse(text) as Manifest)

it.effect("all platforms run the same Node, named to the last digit", () =>
  Effect.gen(function* () {
    const { optionalDependencies } = yield* manifest
    const nodes = Object.entries(optionalDependencies).filter(([name]) => name.startsWith("node-"))
    const versions = new Set(nodes.map(([, version]) => version))
    assert.isAtLeast(nodes.length, 2)
    assert.strictEqual(versions.size, 1)
    for (const version of versions) assert.match(version, /^\d+\.\d+\.\d+$/)
  }),
)

for (const file of [
  "README.md",
  "CONTRIBUTING.md",
  ".ci/run",
  "docs/tutorial.md",
  "docs/tutorial-version-1.md",
  "docs/live.md",
  "docs/performance.md",
  "apps/server/README.md",
  "apps/fuzz/README.md",
  "apps/examples/test/packed/Project.ts",
]) {
  it.effect(`every command of ${file} names the one pnpm`, () =>
    Effect.gen(function* () {
      const { version } = (yield* manifest).devEngines.packageManager
      assert.match(version, /^\d+\.\d+\.\d+$/)
      const named = [...(yield* read(file)).matchAll(/pnpm@([\w.-]*\w)/g)].map(([, each]) => each)
      assert.isNotEmpty(named)
      assert.deepStrictEqual([...new Set(named)], [version])
    }),
  )
}
