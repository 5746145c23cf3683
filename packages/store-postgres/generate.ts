/**
 * Writes `src/sql.generated.ts`, the texts of `sql/` as a module, and `src/rows.generated.ts`, what the
 * catalogue says of their parameters and rows:
 *
 *     pnpm generate
 *
 * The store reads no file at run time: a bundle and an edge host have only modules.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { getTypes } from "./sqlTypes.ts"
import type { SqlTypes } from "./sqlTypes.ts"

const sqlFolder = resolve(import.meta.dirname, "sql")

const sqlModuleFile = resolve(import.meta.dirname, "src/sql.generated.ts")
const rowsModuleFile = resolve(import.meta.dirname, "src/rows.generated.ts")

/** Without blank lines and lines that only comment: a comment changes no digest of a text. */
export const withoutComments = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !/^\s*(?:--.*)?$/.test(line))
    .join("\n")

const read = (name: string): string => readFileSync(join(sqlFolder, name), "utf8")

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(sqlFolder, folder), { encoding: "utf8" })
    .filter((name) => name.endsWith(".sql"))
    .map((name) => join(folder, name).replaceAll("\\", "/"))
    .toSorted()

/** The files that make tables and functions, with their comments. */
export const sqlSources = (): Readonly<Record<string, string>> =>
  Object.fromEntries(["", "functions"].flatMap(filesIn).map((name) => [name, read(name)]))

/** `number-check.sql` holds the statements `numberCheck.…`. */
const toNoun = (file: string): string =>
  basename(file, ".sql").replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The statements of each file, which begin with `-- name: …`, with their comments. */
export const statementSources = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    filesIn("statements").flatMap((file) =>
      read(file)
        .split(/^-- name: /m)
        .slice(1)
        .map((part) => {
          const [name = "", ...lines] = part.split("\n")
          return [`${toNoun(file)}.${name.trim()}`, lines.join("\n")] as const
        }),
    ),
  )

const bare = (sources: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(sources).map(([name, text]) => [name, withoutComments(text)]))

export const sqlTexts = () => bare(sqlSources())
export const statementTexts = () => bare(statementSources())

const renderEntries = (texts: Readonly<Record<string, string>>): string =>
  Object.entries(texts)
    .map(([name, text]) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`)
    .join("")

const renderRecord = (types: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(types).map(([name, type]) => `${name}: ${JSON.stringify(type)}`)
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`
}

export const rowsModule = (types: SqlTypes): string => {
  const entries = Object.entries(types).map(
    ([name, { columns, params }]) =>
      `  ${JSON.stringify(name)}: {\n    params: ${renderRecord(params)},\n    columns: ${renderRecord(columns)},\n  },\n`,
  )
  return `/**
 * The parameters and columns of the statements and functions of \`sql/\`, as the catalogue has them; \`?\` marks
 * what may be null. Made by \`pnpm generate\`: change the files there.
 */
export const sqlTypes = {
${entries.join("")}} as const
`
}

export const sqlModule =
  (): string => `/** The texts of \`sql/\`, without comments. Made by \`pnpm generate\`: change the files there. */
export const sqlFiles = {
${renderEntries(sqlTexts())}} as const

/** The statements of \`sql/statements/\`. */
export const sqlStatements = {
${renderEntries(statementTexts())}} as const
`

if (import.meta.main) {
  writeFileSync(sqlModuleFile, sqlModule())
  writeFileSync(rowsModuleFile, rowsModule(await getTypes(sqlSources(), statementSources())))
}
