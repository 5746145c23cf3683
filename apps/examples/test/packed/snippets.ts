/** The programs that the pages of the documentation show, as files of a project. */
import { Effect } from "effect"
import { globSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { isBuiltin } from "node:module"
import { join } from "node:path"
import { entryPoints, installed, root, textOf } from "./Project.ts"

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

/** What the READMEs show: whole programs, which also come to an end. */
export const readmes: ReadonlyArray<Snippet> = [
  "README.md",
  ...installed.map((name) => `packages/${name.split("/")[1]}/README.md`),
].flatMap(snippetsOf)

const isThere = (module: string): boolean =>
  module === "effect" || isBuiltin(module) || entryPoints.includes(module)

/** Guides also show parts of programs, and programs on other libraries: those have tests of their own. */
const isWhole = ({ program }: Snippet): boolean => {
  const modules = [...program.matchAll(/from "([^"]+)"/g)].map(([, module = ""]) => module)
  return modules.length > 0 && modules.every(isThere)
}

const guides = globSync("docs/*.md", { cwd: root }).flatMap(snippetsOf).filter(isWhole)

/** Writes them into a folder of the project. */
export const writeSnippets = Effect.fnUntraced(function* (path: string) {
  yield* Effect.promise(async () => {
    await mkdir(path, { recursive: true })
    await Promise.all(
      [...readmes, ...guides].map(({ file, program }) => writeFile(join(path, file), program)),
    )
  })
})
