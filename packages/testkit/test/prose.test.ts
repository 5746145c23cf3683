/** The prose of pages: lines that a diff can show, and none of the words that made them hard to read. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

const pages = globSync("{*.md,.github/**/*.md,docs/**/*.md,{apps,packages}/*/*.md}", { cwd: root })

const longest = 200

/** Each has a plainer word: is, with, again, no one, comes to the same as. */
const avoided =
  /\b(?:(?:is|are|be|was|were) told|stands|beside|anew|for ever|nobody|whoever|somebody|what is no|of which|comes to|so that it is)\b/i

/** The page without its code. */
const proseOf = (text: string): string => text.replaceAll(/```[^]*?```|`[^`\n]+`/g, "")

it.effect.each(pages)("%s has short lines outside tables, and plain words", (page) =>
  Effect.gen(function* () {
    const text = yield* Effect.promise(() => readFile(resolve(root, page), "utf8"))
    const long = text
      .split("\n")
      .filter((line) => line.length > longest && !line.trimStart().startsWith("|"))
    assert.deepStrictEqual(long, [])
    const old = proseOf(text)
      .split("\n")
      .filter((line) => avoided.test(line))
    assert.deepStrictEqual(old, [])
  }),
)
