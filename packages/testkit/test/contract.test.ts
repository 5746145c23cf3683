/**
 * Comments about the contract name an existing section of docs/contract.md or its chapters, as in
 * `(contract: Quota)`; links between the pages of docs lead somewhere.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { glob, readFile } from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

interface File {
  /** From the root. */
  readonly path: string
  readonly text: string
}

/** Files of the repository by patterns from its root; no dependencies or builds. */
const listFiles = (...patterns: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const files: Array<File> = []
    for await (const path of glob([...patterns], { cwd: root })) {
      if (/(^|\/)(node_modules|dist)\//.test(path)) continue
      files.push({ path, text: await readFile(join(root, path), "utf8") })
    }
    return files
  })

const findHeadings = ({ text }: File): ReadonlyArray<string> =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading)

const sources = listFiles("packages/*/{src,test}/**/*.ts", "apps/*/{src,test}/**/*.ts")
const chapters = listFiles("docs/contract.md", "docs/contract/*.md")
const pages = listFiles("*.md", "docs/**/*.md", "apps/*/*.md", "packages/*/*.md")

/** A comment's text without its line marks. */
const unwrapped = (text: string): string => text.replaceAll(/\n\s*(?:\*(?!\/)|\/\/) ?/g, " ")

const reference = /\bcontract: ([^()]+)\)|docs\/contract\.md, ([^()`.;:\n]+)/g

/** The sections that a file names. */
const namedIn = ({ text }: File): ReadonlyArray<string> =>
  [...unwrapped(text).matchAll(reference)].flatMap(([, short, long]) =>
    (short ?? long ?? "").split(",").map((name) => name.trim()),
  )

it.effect("every section of the contract that a comment names is there", () =>
  Effect.gen(function* () {
    const sections = new Set((yield* chapters).flatMap(findHeadings))
    const named = (yield* sources).flatMap((file) =>
      namedIn(file).map((section) => ({ path: file.path, section })),
    )
    assert.isAtLeast(named.length, 150)
    assert.deepStrictEqual(
      named.filter(({ section }) => !sections.has(section)),
      [],
    )
  }),
)

/** Comments whole: blocks, and lines that follow one another. */
const findComments = ({ text }: File): ReadonlyArray<string> =>
  [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm)].map(([comment]) =>
    unwrapped(comment),
  )

/** Speaks of `docs/contract.md`, and not of a suite of tests that stores or transports are held to. */
const mention =
  /\bthe contract\b(?! suites?\b| of (?:all |every )?(?:stores?|transports?|sharing)\b)/i

it.effect("every comment that speaks of the contract says which section", () =>
  Effect.gen(function* () {
    const comments = (yield* sources).flatMap((file) =>
      findComments(file).map((comment) => ({ path: file.path, comment })),
    )
    assert.isAtLeast(comments.length, 1000)
    assert.deepStrictEqual(
      comments.filter(({ comment }) => mention.test(comment) && !/\(contract: /.test(comment)),
      [],
    )
  }),
)

it.effect("no comment names a document that is not in the repository", () =>
  Effect.gen(function* () {
    const named = (yield* sources).flatMap(({ path, text }) =>
      [...unwrapped(text).matchAll(/\((?:decisions|operator API)(?:\)|[:.;] ?[^)]*)/g)].map(
        ([found]) => `${path} ${found}`,
      ),
    )
    assert.deepStrictEqual(named, [])
  }),
)

it.effect("no section of the contract shares its name with another", () =>
  Effect.gen(function* () {
    const names = (yield* chapters).flatMap(findHeadings)
    assert.deepStrictEqual(names.toSorted(), [...new Set(names)].toSorted())
  }),
)

/** The anchor of a heading, as GitHub makes it. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
    .replaceAll(" ", "-")

it.effect("every link between pages leads to a page and a heading that are there", () =>
  Effect.gen(function* () {
    const all = yield* pages
    const anchors = new Map(
      all.map((file) => [file.path, new Set(findHeadings(file).map(toAnchor))] as const),
    )
    const broken = all.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\(([^):#]*\.md)?(?:#([^)]+))?\)/g)]
        .filter(([, page, anchor]) => {
          const target =
            page === undefined ? path : relative(root, resolve(root, dirname(path), page))
          const known = anchors.get(target)
          return known === undefined || (anchor !== undefined && !known.has(anchor))
        })
        .map(([link]) => `${path} ${link}`),
    )
    assert.deepStrictEqual(broken, [])
  }),
)
