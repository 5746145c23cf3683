/** What a release checks before it does anything (`.ci/release.ts`). */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const { dated, inOrder, findNotes, selectSome, tagProblems } = (await import(
  resolve(root, ".ci/release.ts")
)) as {
  readonly dated: (changelog: string, version: string, day: string) => string
  readonly inOrder: (own: ReadonlyArray<Manifest>) => ReadonlyArray<string>
  readonly selectSome: (
    own: ReadonlyArray<Manifest>,
    names: ReadonlyArray<string>,
  ) => ReadonlyArray<Manifest>
  readonly findNotes: (changelog: string, heading: string) => string | undefined
  readonly tagProblems: (
    tag: string,
    own: ReadonlyArray<Manifest>,
    source: string,
    changelog: string,
  ) => ReadonlyArray<string>
}

const changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-24\n\n- Messages.\n"
const own = [{ name: "@scope/core", version: "1.2.3" }]
const source = 'export const version = "1.2.3"\n'

type Checked = Parameters<typeof tagProblems>

const refused: ReadonlyArray<
  readonly [name: string, problems: ReadonlyArray<string>, checked: Checked]
> = [
  ["no version", ["release-1 is no tag such as v1.2.3"], ["release-1", own, source, changelog]],
  ["half a version", ["v1.2 is no tag such as v1.2.3"], ["v1.2", own, source, changelog]],
  [
    "another version everywhere",
    [
      "@scope/core has the version 1.2.3",
      "programs print the version 1.2.3",
      "CHANGELOG.md has no dated heading [1.2.4]",
    ],
    ["v1.2.4", own, source, changelog],
  ],
  [
    "an undated heading",
    ["CHANGELOG.md has no dated heading [1.2.3]"],
    ["v1.2.3", own, source, changelog.replace(" - 2026-11-24", "")],
  ],
  [
    "an empty heading",
    ["CHANGELOG.md says nothing of 1.2.3"],
    ["v1.2.3", own, source, changelog.replace("- Messages.", "")],
  ],
]

describe("a tag", () => {
  it("is released when packages, programs and changelog have its version", () => {
    assert.deepStrictEqual(tagProblems("v1.2.3", own, source, changelog), [])
  })

  for (const [name, problems, checked] of refused) {
    it(`is refused: ${name}`, () => {
      assert.deepStrictEqual(tagProblems(...checked), problems)
    })
  }
})

describe("the changelog", () => {
  it("gives a heading's own lines, and the repository's has some", () => {
    assert.strictEqual(findNotes(changelog, "1.2.3"), "- Messages.")
    assert.strictEqual(findNotes(changelog, "Unreleased"), "")
    assert.isUndefined(findNotes(changelog, "1.2.4"))
    assert.isNotEmpty(findNotes(readFileSync(resolve(root, "CHANGELOG.md"), "utf8"), "Unreleased"))
  })

  it("gets what was unreleased under the version, and refuses nothing", () => {
    const before = "# Changelog\n\n## [Unreleased]\n\n- Numbers.\n"
    const after = dated(before, "1.2.4", "2026-11-25")
    assert.strictEqual(
      after,
      "# Changelog\n\n## [Unreleased]\n\n## [1.2.4] - 2026-11-25\n\n- Numbers.\n",
    )
    assert.throws(() => dated(after, "1.2.5", "2026-11-26"), /nothing unreleased/)
  })
})

it("packages are published after those that they need", () => {
  const version = "1.0.0"
  const order = inOrder([
    { name: "c", version, dependencies: { b: version, elsewhere: "^1" } },
    { name: "b", version, peerDependencies: { a: version } },
    { name: "a", version },
    { name: "d", version, dependencies: { d: version } },
  ])
  assert.deepStrictEqual(order, ["a", "b", "c", "d"])
})

describe("what is built", () => {
  const packages = ["core", "http", "server"].map((name) => ({
    name: `@messaging-service/${name}`,
    version: "1.2.3",
  }))

  it("is everything, or what is named", () => {
    assert.deepStrictEqual(selectSome(packages, []), packages)
    assert.deepStrictEqual(
      selectSome(packages, ["server", "@messaging-service/core"]).map(({ name }) => name),
      ["@messaging-service/core", "@messaging-service/server"],
    )
  })

  it("is nothing when a name is unknown", () => {
    assert.throws(() => selectSome(packages, ["core", "sever"]), /@messaging-service\/sever$/)
  })
})
