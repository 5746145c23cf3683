/** SQL is in `sql/`: TypeScript has no more than a few short statements about connections and transactions. */
import { assert, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const folder = resolve(import.meta.dirname, "../src")

const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
  /(?<!\.generated)\.ts$/.test(file),
)

const isSql = (text: string): boolean =>
  /(^|\n)\s*(?:with \w+ as|select|insert into|update \w+|delete from|create (?:table|function|index)|from \w+ \w+)\b/.test(
    text,
  )

/** Lines of template literals that hold SQL. */
const linesOfSql = (source: string): number =>
  Array.from(source.matchAll(/`((?:[^`\\]|\\.)*)`/gs), ([, text = ""]) => text)
    .filter(isSql)
    .reduce((sum, text) => sum + text.trim().split("\n").length, 0)

it("no TypeScript file holds more than 30 lines of SQL", () => {
  const long = files
    .map((file) => [file, linesOfSql(readFileSync(join(folder, file), "utf8"))] as const)
    .filter(([, lines]) => lines > 30)
  assert.deepStrictEqual(long, [])
})

it("lines of SQL are found", () => {
  assert.strictEqual(linesOfSql("const a = `\nselect b\nfrom c`\nconst d = `e`"), 2)
})
