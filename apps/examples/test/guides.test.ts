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
    ([, file = "", text = ""], place) => ({ page, file, text, place: place + 1 }),
  ),
)

it.each(quotes)("$page quotes $file exactly ($place)", ({ file, text }) => {
  assert.include(read(file), text)
})

const aboutStores = read("docs/writing-a-store.md")

it("the guide to stores names every port of a store, and no other", () => {
  const ports = Array.from(
    read("packages/testkit/src/AllStores.ts").matchAll(/^ {2}\| (\w+)$/gm),
    ([, port = ""]) => port,
  ).filter((port) => port !== "SimulatedPhones")
  const named = Array.from(aboutStores.matchAll(/^\| `(\w+)`/gm), ([, port = ""]) => port)
  assert.deepStrictEqual([...named].toSorted(), ports.toSorted())
})

it("the guide to stores names every topic of the contract", () => {
  for (const topic of storeTopics) assert.include(aboutStores, `\`${topic}\``)
})
