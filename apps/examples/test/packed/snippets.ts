/** The programs that the pages of the documentation show, as files of a project. */
import { Effect } from "effect"
import { globSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { isBuiltin } from "node:module"
import { join } from "node:path"
import { entryPoints, heavy, installed, root, textOf } from "./Project.ts"

interface Snippet {
  /** Its page, and which one of that page it is. */
  readonly file: string
  readonly program: string
}

const snippetsOf = (page: string): ReadonlyArray<Snippet> =>
  [...textOf(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, program = ""], at) => ({
    file: `${page.replace(/\.md$/, "").replaceAll("/", "-")}-${at + 1}.ts`,
    program,
  }))

const readmeOf = (name: string): string => `packages/${name.split("/")[1]}/README.md`

/** What the READMEs show: whole programs, which also come to an end. */
export const readmes: ReadonlyArray<Snippet> = ["README.md", ...installed.map(readmeOf)].flatMap(
  snippetsOf,
)

/** What the READMEs of the heavy packages show: programs that are compiled alone. */
const heavyReadmes = heavy.map(readmeOf).flatMap(snippetsOf)

const isThere = (module: string): boolean =>
  ["effect", "pg"].includes(module) || isBuiltin(module) || entryPoints.includes(module)

/** Guides also show parts of programs, and programs on other libraries: those have tests of their own. */
const isWhole = ({ program }: Snippet): boolean => {
  const modules = [...program.matchAll(/from "([^"]+)"/g)].map(([, module = ""]) => module)
  return modules.length > 0 && modules.every(isThere)
}

const guides = globSync("docs/*.md", { cwd: root }).flatMap(snippetsOf).filter(isWhole)

const write = (path: string, snippets: ReadonlyArray<Snippet>) =>
  Effect.promise(async () => {
    await mkdir(path, { recursive: true })
    await Promise.all(snippets.map(({ file, program }) => writeFile(join(path, file), program)))
  })

/** Writes them into a folder of the project. */
export const writeSnippets = (path: string) => write(path, [...readmes, ...guides])

/** Those of the heavy packages. */
export const writeHeavySnippets = (path: string) => write(path, heavyReadmes)
