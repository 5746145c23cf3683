/** docs/operating.md has one line for each table: its bound, its housekeeping and its metric. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { relations } from "../src/database/Schema.ts"

const page = readFileSync(resolve(import.meta.dirname, "../../../docs/operating.md"), "utf8")
const section = page.split("\n## ").find((one) => one.startsWith("Retention")) ?? ""

const lines = section
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )

it("every table has a line that says what bounds it", () => {
  const named = lines.map(([table = ""]) => table.replaceAll("`", ""))
  assert.deepStrictEqual(named.toSorted(), relations.toSorted())
  for (const [table = "", bound, housekeeping, metric] of lines) {
    assert.isNotEmpty(bound, table)
    assert.isNotEmpty(housekeeping, table)
    assert.strictEqual(metric, `\`{table="${table.replaceAll("`", "")}"}\``)
  }
})
