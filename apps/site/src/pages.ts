/** All pages of the site: those of `docs`, those of the repository's root, and those made from types. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative, resolve } from "node:path"
import { apiReference } from "./apiReference.ts"
import { openingParagraph, toTitle, withLinks } from "./markdown.ts"
import { outline, projectPages, referencePages } from "./outline.ts"
import type { Part } from "./outline.ts"

export const root = resolve(import.meta.dirname, "../../..")

/** Pages outside `docs`, and the place of each in the site. */
const moved: Readonly<Record<string, string>> = {
  "README.md": "project/readme.md",
  "CHANGELOG.md": "project/changelog.md",
  "CONTRIBUTING.md": "project/contributing.md",
  "SECURITY.md": "project/security.md",
  "docs/decisions/README.md": "decisions/index.md",
}

/** The place of a file of the repository in the site; null for one that the site does not have. */
const toPosition = (file: string): string | null => {
  const path = moved[file]
  if (path !== undefined) return path
  if (!file.startsWith("docs/")) return null
  return file.slice("docs/".length)
}

const staged = (file: string, location: string): string =>
  withLinks(readFileSync(join(root, file), "utf8"), (path) => {
    const target = toPosition(normalize(join(dirname(file), path)))
    if (target === null) return null
    const way = relative(dirname(location), target)
    return way.startsWith(".") ? way : `./${way}`
  })

/** Markdown of every page, by its path within the site. */
export const sitePages = (): ReadonlyMap<string, string> => {
  const files = [...globSync("docs/**/*.md", { cwd: root }), ...Object.keys(moved)]
  const pages = new Map<string, string>()
  for (const file of new Set(files)) {
    const path = toPosition(file)
    if (path !== null) pages.set(path, staged(file, path))
  }
  for (const [name, text] of apiReference()) pages.set(`reference/${name}.md`, text)
  return pages
}

/** Every part of the site, with its pages. */
export const siteParts = (pages: ReadonlyMap<string, string>): ReadonlyArray<Part> => [
  ...outline,
  { title: "The front door", pages: referencePages.map((name) => `reference/${name}`) },
  {
    title: "Decisions",
    pages: [...pages.keys()]
      .filter((path) => path.startsWith("decisions/"))
      .map((path) => path.slice(0, -".md".length))
      .toSorted((a, b) => Number(b.endsWith("index")) - Number(a.endsWith("index"))),
  },
  { title: "Project", pages: projectPages.map((name) => `project/${name}`) },
]

/** An index for readers that take Markdown: each page with its title and its opening. */
export const llmsText = (pages: ReadonlyMap<string, string>): string => {
  const line = (page: string): string => {
    const text = pages.get(`${page}.md`) ?? ""
    return `- [${toTitle(text)}](${page}.md): ${openingParagraph(text)}`
  }
  const parts = siteParts(pages).map(
    ({ pages: own, title }) => `## ${title}\n\n${own.map(line).join("\n")}`,
  )
  const readme = pages.get("project/readme.md") ?? ""
  return `# ${toTitle(readme)}\n\n> ${openingParagraph(readme)}\n\n${parts.join("\n\n")}\n`
}
