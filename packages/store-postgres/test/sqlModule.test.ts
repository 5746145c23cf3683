/** The module of SQL texts is that of the files. */
import { assert, it } from "@effect/vitest"
import { sqlFiles, sqlStatements } from "../src/sql.generated.ts"
import { sqlTexts, statementTexts } from "../generate.ts"

it("sql.generated.ts holds the files of sql/ (after a change: run `pnpm generate`)", () => {
  assert.deepStrictEqual<Readonly<Record<string, string>>>(sqlFiles, sqlTexts())
  assert.deepStrictEqual<Readonly<Record<string, string>>>(sqlStatements, statementTexts())
})
