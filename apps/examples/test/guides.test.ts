/** What the guides quote stands so in the files that they name, which other tests run. */
import { assert, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"

const root = new URL("../../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

const quotes = globSync("{README.md,docs/**/*.md}", { cwd: root.pathname }).flatMap((page) =>
  Array.from(
    read(page).matchAll(/```ts\n\/\/ ((?:apps|packages)\/\S+)\n([^]*?)```/g),
    ([, file = "", text = ""], place) => ({ page, file, text, place: place + 1 }),
  ),
)

it.each(quotes)("$page quotes $file as it is ($place)", ({ file, text }) => {
  assert.include(read(file), text)
})
