/** One Node and one pnpm, exact, on every platform and in every command. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

const read = (file: string) => Effect.promise(() => readFile(resolve(root, file), "utf8"))

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
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

/** What pnpm does itself. */
const ofPnpm: ReadonlyArray<string> = ["install", "test", "exec"]

for (const file of [
  ".ci/run",
  "apps/examples/test/packed/Project.ts",
  ...globSync("{*.md,docs/**/*.md,{apps,packages}/*/README.md}", { cwd: root }).filter((page) =>
    readFileSync(resolve(root, page), "utf8").includes("pnpm@"),
  ),
]) {
  it.effect(`every command of ${file} names the one pnpm, and a script that there is`, () =>
    Effect.gen(function* () {
      const { version } = (yield* manifest).devEngines.packageManager
      assert.match(version, /^\d+\.\d+\.\d+$/)
      const named = [...(yield* read(file)).matchAll(/pnpm@([\w.-]*\w)/g)].map(([, each]) => each)
      assert.isNotEmpty(named)
      assert.deepStrictEqual([...new Set(named)], [version])
      const { scripts } = yield* manifest
      for (const [, script = ""] of (yield* read(file)).matchAll(
        /npx -y pnpm@[\d.]+ (?:run )?([a-z][\w:]*)/g,
      )) {
        assert.include([...ofPnpm, ...Object.keys(scripts)], script)
      }
    }),
  )
}
