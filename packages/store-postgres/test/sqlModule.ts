/**
 * Writes `src/sql.generated.ts`, the texts of `sql/` as a module:
 *
 *     node test/sqlModule.ts
 *
 * The store reads no file at run time: a bundle and an edge host have only modules.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const sqlFolder = resolve(import.meta.dirname, "../sql")

const sqlModuleFile = resolve(import.meta.dirname, "../src/sql.generated.ts")

/** Without blank lines and lines that only comment: a comment changes no digest of a text. */
const statementsOf = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !/^\s*(?:--.*)?$/.test(line))
    .join("\n")

/** The statements of each file, by its path in `sql/`. */
export const sqlTexts = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(sqlFolder, { recursive: true, encoding: "utf8" })
      .map((name) => name.replaceAll("\\", "/"))
      .filter((name) => name.endsWith(".sql"))
      .toSorted()
      .map((name) => [name, statementsOf(readFileSync(join(sqlFolder, name), "utf8"))]),
  )

const writeSqlModule = (): void => {
  const texts = Object.entries(sqlTexts())
  const names = texts.map(([name]) => `  | ${JSON.stringify(name)}\n`)
  const entries = texts.map(
    ([name, text]) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`,
  )
  writeFileSync(
    sqlModuleFile,
    `/** The texts of \`sql/\`, without comments. Made by \`test/sqlModule.ts\`: change the files there. */
type SqlFile =
${names.join("")}
export const sqlFiles: Readonly<Record<SqlFile, string>> = {
${entries.join("")}}
`,
  )
}

if (import.meta.main) writeSqlModule()
