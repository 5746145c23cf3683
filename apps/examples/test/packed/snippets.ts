/** The programs in the documentation's pages, as files of a project. */
import { Effect } from "effect"
import { globSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { isBuiltin } from "node:module"
import { join } from "node:path"
import { entryPoints, heavy, installed, root, readText } from "./Project.ts"

interface Snippet {
  /** Its page, and its index in that page. */
  readonly file: string
  readonly program: string
}

const toSnippets = (page: string): ReadonlyArray<Snippet> =>
  [...readText(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, program = ""], at) => ({
    file: `${page.replace(/\.md$/, "").replaceAll("/", "-")}-${at + 1}.ts`,
    program,
  }))

const toReadme = (name: string): string => `packages/${name.split("/")[1]}/README.md`

/** The programs of the READMEs: whole programs that end by themselves. */
export const readmes: ReadonlyArray<Snippet> = ["README.md", ...installed.map(toReadme)].flatMap(
  toSnippets,
)

/** The programs in the READMEs of the heavy packages: they are only compiled. */
const heavyReadmes = heavy.map(toReadme).flatMap(toSnippets)

const isThere = (module: string): boolean =>
  ["effect", "pg"].includes(module) || isBuiltin(module) || entryPoints.includes(module)

/** Guides also show parts of programs, and programs on other libraries: those have their own tests. */
const isWhole = ({ program }: Snippet): boolean => {
  const modules = [...program.matchAll(/from "([^"]+)"/g)].map(([, module = ""]) => module)
  return modules.length > 0 && modules.every(isThere)
}

const guides = globSync("docs/*.md", { cwd: root }).flatMap(toSnippets).filter(isWhole)

const write = (path: string, snippets: ReadonlyArray<Snippet>) =>
  Effect.promise(async () => {
    await mkdir(path, { recursive: true })
    await Promise.all(snippets.map(({ file, program }) => writeFile(join(path, file), program)))
  })

/** Writes them into a folder of the project. */
export const writeSnippets = (path: string) => write(path, [...readmes, ...guides])

/** Those of the heavy packages. */
export const writeHeavySnippets = (path: string) => write(path, heavyReadmes)
