/** Links of the documentation lead somewhere, and every page has its place among its readers. */
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { assert, describe, it } from "vitest"
import {
  toAnchors,
  toLinks,
  openingParagraph,
  toSlug,
  toTitle,
  withLinks,
} from "../src/markdown.ts"
import { root, sitePages, siteParts } from "../src/pages.ts"

const files = globSync("{*.md,docs/**/*.md,{apps,packages}/*/README.md}", { cwd: root })
const read = (file: string): string => readFileSync(join(root, file), "utf8")

/** What is wrong with a link of a page; null when it leads somewhere. */
const wrongWith = (
  file: string,
  text: string,
  { anchor, path }: ReturnType<typeof toLinks>[number],
) => {
  const target = path === "" ? file : normalize(join(dirname(file), path))
  if (!existsSync(join(root, target))) return `${path} does not exist`
  if (anchor === "" || !target.endsWith(".md")) return null
  const known = toAnchors(path === "" ? text : read(target))
  return known.has(anchor) ? null : `${path}#${anchor} has no heading`
}

it.each(files)("links of %s lead to files and headings", (file) => {
  const text = read(file)
  const wrong = toLinks(text).flatMap((link) => wrongWith(file, text, link) ?? [])
  assert.deepStrictEqual(wrong, [])
})

describe("the site", () => {
  const pages = sitePages()

  it("has every page in one part, and no other", () => {
    const placed = siteParts(pages).flatMap(({ pages: own }) => own.map((page) => `${page}.md`))
    assert.deepStrictEqual(placed.toSorted(), [...pages.keys()].toSorted())
  })

  it("leads from its first page to every guide", () => {
    const linked = toLinks(pages.get("index.md") ?? "").map(({ path }) => path.replace(/^\.\//, ""))
    const guides = globSync("docs/*.md", { cwd: root })
      .map((file) => file.slice("docs/".length))
      .filter((file) => file !== "index.md")
    assert.includeMembers(linked, guides)
  })

  it("gives every page a title and an opening", () => {
    for (const [path, text] of pages) {
      assert.notStrictEqual(toTitle(text), "", path)
      assert.isAbove(openingParagraph(text).length, 30, path)
    }
  })

  it("shows every name that the front door exports", () => {
    const reference = [...pages].filter(([path]) => path.startsWith("reference/"))
    const text = reference.map(([, each]) => each).join("\n")
    const sources = globSync("packages/service/src/{open,MessagingError,api/*,testing/*}.ts", {
      cwd: root,
    })
    const names = sources.flatMap((file) => [
      ...read(file).matchAll(/^export (?:interface|type|class|const|function) (\w+)/gm),
    ])
    assert.isAbove(names.length, 60)
    for (const [, name = ""] of names) assert.include(text, `\n## ${name}\n`)
  })
})

describe("Markdown", () => {
  it("gives headings the anchors of the repository's host", () => {
    assert.strictEqual(toSlug("What `it` is, and isn't"), "what-it-is-and-isnt")
    assert.sameMembers(
      [...toAnchors("# A b\n\n## C\n\n## C\n\n```\n# no\n```\n")],
      ["a-b", "c", "c-1"],
    )
  })

  it("moves links, turns those to other files into text, and leaves code alone", () => {
    const text = "[a](x.md#y) [b](z.ts) ![c](p.png) [d](https://e.example)\n\n```\n[a](x.md)\n```\n"
    const moved = withLinks(text, (path) => (path === "z.ts" ? null : `../${path}`))
    assert.strictEqual(
      moved,
      "[a](../x.md#y) b ![c](../p.png) [d](https://e.example)\n\n```\n[a](x.md)\n```\n",
    )
  })
})
