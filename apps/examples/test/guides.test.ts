/**
 * The guides quote their files exactly, and other tests run those files; the guide to stores names
 * everything that a store implements.
 */
import { assert, it } from "@effect/vitest"
import { storeTopics } from "@messaging-service/testkit"
import { globSync, readFileSync } from "node:fs"

const root = new URL("../../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

const quotes = globSync("{README.md,docs/**/*.md}", { cwd: root.pathname }).flatMap((page) =>
  Array.from(
    read(page).matchAll(/```ts\n\/\/ ((?:apps|packages)\/\S+)\n([^]*?)```/g),
    ([, file = "", text = ""], index) => ({ page, file, text, place: index + 1 }),
  ),
)

it.each(quotes)("$page quotes $file exactly ($place)", ({ file, text }) => {
  assert.include(read(file), text)
})

const readmes = globSync("{apps,packages}/*/package.json", { cwd: root.pathname })
  .filter((manifest) => JSON.parse(read(manifest)).private !== true)
  .map((manifest) => manifest.replace("package.json", "README.md"))

it.each(readmes)(
  "%s leads nowhere outside its package, which is read where it was unpacked",
  (page) => {
    const links = Array.from(read(page).matchAll(/\]\((?!https?:|#)([^)]+)\)/g), ([, to]) => to)
    assert.deepStrictEqual(
      links.filter((to) => to?.startsWith("..")),
      [],
    )
  },
)

const aboutStores = read("docs/writing-a-store.md")

it("the guide to stores names every namespace of the store, and no other", () => {
  const store = read("packages/core/src/store/Store.ts")
  const namespaces = Array.from(store.matchAll(/^ +readonly (\w+):/gm), ([, name = ""]) => name)
  const named = Array.from(aboutStores.matchAll(/^\| `store\.(\w+)`/gm), ([, name = ""]) => name)
  assert.deepStrictEqual(named.toSorted(), namespaces.toSorted())
})

it("the guide to stores names every topic of the contract", () => {
  for (const topic of storeTopics) assert.include(aboutStores, `\`${topic}\``)
})
