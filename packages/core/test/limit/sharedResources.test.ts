import { assert, it } from "@effect/vitest"
import { sharedLimits } from "@messaging-service/core"
import type { SharedLimit } from "@messaging-service/core"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

const page = Effect.promise(() =>
  readFile(resolve(import.meta.dirname, "../../../../docs/security.md"), "utf8"),
)

const mebibyte = 1024 * 1024

const amount = (what: string, max: number): string => {
  if (!what.startsWith("bytes")) return max.toLocaleString("en")
  if (max >= 1024 * mebibyte) return `${max / 1024 / mebibyte} GiB`
  return max >= mebibyte ? `${max / mebibyte} MiB` : `${max / 1024} KiB`
}

const bounds = ({ share, whole }: SharedLimit, what: string): ReadonlyArray<string> => [
  whole === null ? "no bound of its own" : amount(what, whole),
  share === null ? "" : `${amount(what, share.most)} for each ${share.of}`,
]

/** The rows of a Markdown table, without the formatter's padding. */
const parseRows = (markdown: string): ReadonlyArray<ReadonlyArray<string>> =>
  markdown
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    )

it.effect("docs/security.md lists every shared resource with its bound and share", () =>
  Effect.gen(function* () {
    const [, table = ""] = (yield* page).split(/<!-- (?:end of )?shared resources -->/)
    const [head, , ...rows] = parseRows(table)
    assert.deepStrictEqual(head, ["name in code", "what", "in total", "share", "above it"])
    assert.deepStrictEqual(
      rows.map(([name, , whole, share]) => [name, whole, share]),
      Object.entries(sharedLimits).map(([name, resource], at) => [
        `\`${name}\``,
        ...bounds(resource, rows[at]?.[1] ?? ""),
      ]),
    )
    for (const [name = "", what, , , above] of rows)
      assert.isTrue(what !== "" && above !== "", name)
  }),
)
