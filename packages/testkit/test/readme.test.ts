/**
 * README is short, its figures are those of the code, its pictures are small, and its table of alternatives
 * is a part of the comparison. The comparison's cells are filled and dated as their sources.
 */
import { assert, it } from "@effect/vitest"
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")
const read = (file: string): string => readFileSync(resolve(root, file), "utf8")
const readme = read("README.md")
const comparison = read("docs/comparison.md")

it("README has at most 150 lines", () => {
  assert.isAtMost(readme.trimEnd().split("\n").length, 150)
})

it("README counts the planted faults, and those that are found", () => {
  const listed = ["answerFaults", "deliveryFaults", "faults", "faultsOfMessages"]
    .map((name) => read(`apps/simulation/src/planted/${name}.ts`))
    .join("\n")
  const all = listed.match(/^ +within: /gm)?.length
  const unfound = listed.match(/^ +unfound:/gm)?.length ?? 0
  const [, found, of] = /\*\*(\d+) of (\d+)\*\* faults/.exec(readme) ?? []
  assert.deepStrictEqual([Number(found), Number(of)], [Number(all) - unfound, all])
})

it("README counts the seeds of every change", () => {
  const seeds = read("apps/simulation/test/seeds.slow.test.ts")
  const [, all] = /bySize\(\{ change: \d+, all: (\d+),/.exec(seeds) ?? []
  const [, named] = /\*\*(\d+) seeds\*\*/.exec(readme) ?? []
  assert.strictEqual(Number(named), Number(all))
})

it("README's pictures have at most 150 kB, the one that moves 1 MB", () => {
  const pictures = Array.from(readme.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g), ([, file = ""]) => file)
  assert.isAtLeast(pictures.length, 2)
  for (const file of pictures) {
    const limit = file.endsWith("/send-arrive-read.png") ? 1_000_000 : 150_000
    assert.isAtMost(statSync(resolve(root, file)).size, limit, file)
  }
})

it("README and the comparison are dated as their sources and the page on moving", () => {
  const [, date = ""] = /As their public sources said on (\d+ \w+ \d{4})\./.exec(comparison) ?? []
  assert.notStrictEqual(date, "")
  assert.include(readme, `As their public sources said on ${date}.`)
  assert.include(read("docs/decisions/alternatives.md"), `looked at on ${date}\n`)
  assert.include(read("docs/moving.md"), `as of ${date}`)
})

/** The cells of the first table below a heading. */
const tableBelow = (page: string, heading: string) => {
  const [, after = ""] = page.split(`${heading}\n`)
  const [table = ""] = /(?:\|.*\n)+/.exec(after) ?? []
  const [head = [], , ...rows] = table
    .trimEnd()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  return { head, rows }
}

it("the comparison leaves no cell empty, and README shows five of its rows", () => {
  const { head, rows } = tableBelow(comparison, "# Against the alternatives")
  assert.isAtLeast(rows.length, 10)
  for (const row of [head, ...rows]) {
    assert.lengthOf(row, head.length)
    assert.notInclude(row, "")
  }
  const short = tableBelow(readme, "## Against the alternatives")
  assert.deepStrictEqual(short.head, head)
  assert.lengthOf(short.rows, 5)
  for (const row of short.rows) assert.deepInclude(rows, row)
})
