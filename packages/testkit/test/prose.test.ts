/** The prose of pages and of comments: short lines, and none of the words that made them hard to read. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

const pages = globSync("{*.md,.github/**/*.md,docs/**/*.md,{apps,packages}/*/*.md}", { cwd: root })

/** Folders with comments and test names that are held to the same words. */
const folders = [
  "apps/{bench,cli,examples,fuzz,server,simulation,worker}",
  "packages/core/test",
  "packages/{emulator,http,node,store-memory,testkit}",
  "packages/{telegram,whatsapp}-server",
  "packages/transport-*",
] as const

const longest = 200

/** Each has a plainer word: is, with, again, no one, equals. */
const avoided =
  /\b(?:(?:is|are|be|was|were) told|stands|beside|anew|for ever|nobody|whoever|somebody|what is no|of which|comes to|so that it is)\b/i

const withoutCode = (text: string): string => text.replaceAll(/```[^]*?```|`[^`\n]+`/g, "")

const oldWordsIn = (text: string): ReadonlyArray<string> =>
  withoutCode(text)
    .split("\n")
    .filter((line) => avoided.test(line))

it.effect.each(pages)("%s has short lines outside tables, and plain words", (page) =>
  Effect.gen(function* () {
    const text = yield* Effect.promise(() => readFile(resolve(root, page), "utf8"))
    const long = text
      .split("\n")
      .filter((line) => line.length > longest && !line.trimStart().startsWith("|"))
    assert.deepStrictEqual(long, [])
    assert.deepStrictEqual(oldWordsIn(text), [])
  }),
)

/** Comments, and the names of tests. */
const prose = /\/\*\*[^]*?\*\/|(?<=^|\s)\/\/ .*|(?<=\b(?:it|test|describe)[\w.]*\(\s*)"[^"\n]*"/gm

it.effect.each(folders)("comments and test names in %s have plain words", (folder) =>
  Effect.gen(function* () {
    const files = globSync(`${folder}/**/*.ts`, {
      cwd: root,
      exclude: (name) => /(?:^|\/)(?:node_modules|dist)$|\/prose\.test\.ts$/.test(name),
    })
    assert.isNotEmpty(files)
    const found: Array<string> = []
    for (const file of files) {
      const text = yield* Effect.promise(() => readFile(resolve(root, file), "utf8"))
      for (const [piece] of text.matchAll(prose)) {
        found.push(...oldWordsIn(piece).map((line) => `${file}: ${line.trim()}`))
      }
    }
    assert.deepStrictEqual(found, [])
  }),
)
