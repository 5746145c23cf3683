/** The module of the types of SQL texts is that of the files, and of the catalogue. */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { rowsModule, sqlSources, statementSources } from "../generate.ts"
import { getTypes } from "../sqlTypes.ts"

it("rows.generated.ts says of parameters and rows what the catalogue says of them", async () => {
  const created = readFileSync(resolve(import.meta.dirname, "../src/rows.generated.ts"), "utf8")
  assert.strictEqual(created, rowsModule(await getTypes(sqlSources(), statementSources())))
})
