/** Headings and links of Markdown, as the site and its tests read them. */

/** The anchor of a heading, by the rule of the places that show the repository. */
export const toSlug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-")

/** The text without its blocks of code. */
const withoutBlocks = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```$/gm, "")

/** A heading's text as it is shown. */
const plain = (heading: string): string =>
  heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "")

export const toTitle = (text: string): string => plain(/^# (.+)$/m.exec(text)?.[1] ?? "")

/** Anchors of a page: a heading that repeats gets a number. */
export const toAnchors = (text: string): ReadonlySet<string> => {
  const counts = new Map<string, number>()
  const anchors = new Set<string>()
  for (const [, heading = ""] of withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = toSlug(plain(heading))
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

export interface Link {
  readonly text: string
  /** Empty for an anchor of the same page. */
  readonly path: string
  readonly anchor: string
}

const linkPattern = /(!?)\[((?:[^\]`]|`[^`]*`)*)\]\(([^()\s#]*)(?:#([^()\s]*))?\)/g

const isElsewhere = (path: string): boolean => /^[a-z]+:/.test(path)

const toLink = ([, , text = "", path = "", anchor = ""]: ReadonlyArray<string>): Link => ({
  text,
  path,
  anchor,
})

/** Links to files of the repository, pictures included. */
export const toLinks = (text: string): ReadonlyArray<Link> =>
  [...withoutBlocks(text).matchAll(linkPattern)]
    .map(toLink)
    .filter(({ anchor, path }) => !isElsewhere(path) && (path !== "" || anchor !== ""))

/** Replaces the target of each link; null leaves its text alone. */
export const withLinks = (text: string, toTarget: (path: string) => string | null): string =>
  text
    .split(/(^ *```[^]*?^ *```$)/m)
    .map((piece, index) =>
      index % 2 === 1
        ? piece
        : piece.replaceAll(linkPattern, (...found: Array<string>) => {
            const { anchor, path, text: formatted } = toLink(found)
            if (path === "" || isElsewhere(path)) return found[0] ?? ""
            const target = toTarget(path)
            if (target === null) return formatted
            return `${found[1]}[${formatted}](${target}${anchor === "" ? "" : `#${anchor}`})`
          }),
    )
    .join("")

/** The first paragraph after the title: what one can do after reading the page. */
export const openingParagraph = (text: string): string => {
  const paragraphs = text
    .replace(/^# .+$/m, "")
    .trim()
    .split(/\n\n+/)
  return (paragraphs.find((each) => /^[A-Z`*[]/.test(each)) ?? "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
}
