/**
 * The benchmarks' smoke run: every row is there, measured and checked. No figure is judged: what a
 * busy machine does to them says nothing about the service.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Report } from "../src/report.ts"
import { rows } from "../src/rows/index.ts"

const { NODE_COMPILE_CACHE, PATH } = process.env

const program = resolve(import.meta.dirname, "../src/main.ts")

const temporaryDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "bench-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true })),
)

const bench = (...options: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number; readonly text: string }>((resume) => {
    const child = execFile(
      process.execPath,
      [program, ...options],
      { env: { NODE_COMPILE_CACHE, PATH }, maxBuffer: 1e7 },
      (error, stdout, stderr) =>
        resume(Effect.succeed({ code: error === null ? 0 : 1, text: stdout + stderr })),
    )
    return Effect.sync(() => child.kill("SIGTERM"))
  })

it.effect("the page about performance asks for rows that there are", () =>
  Effect.gen(function* () {
    const page = resolve(import.meta.dirname, "../../../docs/performance.md")
    const text = yield* Effect.promise(() => readFile(page, "utf8"))
    const asked = [...text.matchAll(/ bench --only (\S+)/g)].flatMap(([, ids = ""]) =>
      ids.split(","),
    )
    assert.isNotEmpty(asked)
    assert.includeMembers(
      rows.map(({ id }) => id),
      asked,
    )
  }),
)

describe("the benchmarks' smoke run", () => {
  it.effect("prints every row with its ratios, after each result was checked", () =>
    Effect.gen(function* () {
      const json = join(yield* temporaryDirectory, "report.json")
      const { code, text } = yield* bench("--smoke", "--json", json)
      assert.strictEqual(code, 0, text)
      const report = JSON.parse(yield* Effect.promise(() => readFile(json, "utf8"))) as Report
      assert.deepStrictEqual(
        report.rows.map(({ id }) => id),
        rows.map(({ id }) => id),
      )
      for (const row of report.rows) {
        assert.include(text, `${row.id}: ${row.title}`)
        // Each run's result was checked.
        assert.strictEqual(row.checks, row.candidates.length * report.rounds, row.id)
        assert.isAbove(row.ratios.length + row.figures.length, 0, row.id)
        for (const { median, name, rounds } of row.candidates) {
          assert.include(text, name)
          assert.lengthOf(rounds, report.rounds, name)
          assert.isAbove(median, 0, name)
        }
        for (const { name, ratio } of row.ratios) {
          assert.include(text, name)
          assert.isAbove(ratio, 0, name)
        }
        for (const { name } of row.figures) assert.include(text, name)
      }
    }),
  )
})

it.effect("a message costs no more than each count's limit", () =>
  Effect.gen(function* () {
    const { code, text } = yield* bench("--counts")
    assert.strictEqual(code, 0, text)
    assert.include(text, "holds")
  }),
)
