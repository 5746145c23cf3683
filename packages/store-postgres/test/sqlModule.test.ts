/** The modules of SQL texts and of their types are those of the files. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { sqlFiles, sqlStatements } from "../src/sql.generated.ts"
import { rowsModule, sqlSources, sqlTexts, statementSources, statementTexts } from "./sqlModule.ts"
import { typesOf } from "./sqlTypes.ts"

it("sql.generated.ts holds the files of sql/ (after a change: run `pnpm sql` in this package)", () => {
  assert.deepStrictEqual<Readonly<Record<string, string>>>(sqlFiles, sqlTexts())
  assert.deepStrictEqual<Readonly<Record<string, string>>>(sqlStatements, statementTexts())
})

it("rows.generated.ts says of parameters and rows what the catalogue says of them", async () => {
  const made = readFileSync(resolve(import.meta.dirname, "../src/rows.generated.ts"), "utf8")
  assert.strictEqual(made, rowsModule(await typesOf(sqlSources(), statementSources())))
})
