/** docs/rules.md lists every rule with its homes; this suite holds the list to the sources. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")
const read = (file: string): string => readFileSync(resolve(root, file), "utf8")

const comparisons = "packages/store-postgres/test/rules"

/** What a cell names: files, and after a colon the exports of the last of them. */
const named = (cell: string) =>
  cell.split("; ").map((part) => {
    const [files = "", names = ""] = part.split(": ")
    const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? "")
    return { files: quoted(files), names: quoted(names) }
  })

const rules = read("docs/rules.md")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2)
  .map((line) => {
    const [rule = "", core = "", memory = "", sql = "", tests = ""] = line
      .split("|")
      .slice(1)
      .map((cell) => cell.trim())
    return {
      rule,
      core: named(core),
      memory: named(memory),
      sql: named(sql),
      tests: tests.split("; "),
    }
  })

const compared = readdirSync(resolve(root, comparisons))
  .map((file) => read(`${comparisons}/${file}`))
  .join("\n")

const assertExports = (source: string, names: ReadonlyArray<string>, file: string) => {
  for (const name of names) {
    assert.match(source, new RegExp(`export (const|function\\*?) ${name}\\b`), `${file}: ${name}`)
  }
}

/** The names that any import of the module brings, under their own names. */
const importedFrom = (source: string, module: string): ReadonlyArray<string> =>
  [...source.matchAll(/import (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)"/g)].flatMap(
    ([, names, whole = "", from = ""]) => {
      if (!from.endsWith(module)) return []
      return names === undefined
        ? [...source.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, "g"))].map(
            ([, name]) => name ?? "",
          )
        : names.split(",").map((name) => name.trim().split(" as ")[0] ?? "")
    },
  )

it.effect.each(rules)("$rule: core has it and the memory store runs it", ({ core, memory }) =>
  Effect.sync(() => {
    const names = core.flatMap((home) => home.names)
    assert.isNotEmpty(names)
    for (const { files, names: exported } of core) {
      for (const file of files) assertExports(read(`packages/core/src/${file}`), exported, file)
    }
    for (const { files } of memory) {
      for (const file of files) {
        const source = read(`packages/store-memory/src/${file}`)
        const imported = importedFrom(source, "@messaging-service/core/ports")
        assert.isTrue(
          names.some((name) => imported.includes(name)),
          `${file} does not run it`,
        )
      }
    }
  }),
)

it.effect.each(rules)("$rule: what SQL repeats is compared with core", ({ core, sql, tests }) =>
  Effect.sync(() => {
    const names = core.flatMap((home) => home.names)
    const asked = importedFrom(compared, "@messaging-service/core/ports")
    for (const { files, names: repeated } of sql) {
      for (const file of files) {
        const source = read(`packages/store-postgres/src/${file}`)
        if (repeated.length === 0) {
          const imported = importedFrom(source, "@messaging-service/core/ports")
          assert.isTrue(
            names.some((name) => imported.includes(name)),
            `${file} does not ask core`,
          )
          assert.deepStrictEqual(tests, ["asks core"])
          continue
        }
        assertExports(source, repeated, file)
        const compares = importedFrom(compared, `/src/${file}`)
        for (const name of repeated) assert.include(compares, name)
        assert.isTrue(
          names.some((name) => asked.includes(name)),
          `${file} is not compared`,
        )
        for (const test of tests) assert.include(compared, `it.effect("${test}"`)
      }
    }
  }),
)

/** What SQL says of a rule, and the one file that says it. */
const onceInSql: ReadonlyArray<readonly [what: string, words: RegExp, home: string]> = [
  ["expiry of messages", /message\}?\.expires_at|m\.expires_at (<|>|is null)/, "queue/lane.ts"],
  ["expiry of keys", /(k|key)\)?\}?\.expires_at (<|>|is null)/, "key/keyRow.ts"],
  ["what may have left", /\.interruptions > 0/, "queue/lane.ts"],
  ["which lanes can be claimed", /connected or /, "queue/lane.ts"],
  ["messages of limited plans", /plan_messages_remaining is /, "workspace/workspaceRow.ts"],
  ["shares of workspaces", /array_position\([^,]*workspaces/, "queue/shares.ts"],
  ["subscriptions", /\.type = any/, "webhook/queueDeliveries.ts"],
]

it.effect.each(onceInSql)("%s: one file of SQL says it", ([, words, home]) =>
  Effect.sync(() => {
    const folder = resolve(root, "packages/store-postgres/src")
    const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (file) =>
        file.endsWith(".ts") &&
        !file.startsWith("migrations") &&
        // Templates, not comments.
        words.test(
          readFileSync(resolve(folder, file), "utf8").replaceAll(/^ *(\/\*|\*|\/\/|--).*$/gm, ""),
        ),
    )
    assert.deepStrictEqual(found, [home])
  }),
)

it.effect("every comparison is named in the table", () =>
  Effect.sync(() => {
    const listed = new Set(rules.flatMap(({ tests }) => tests))
    const made = [...compared.matchAll(/it\.effect\("([^"]+)"/g)].map(([, name]) => name ?? "")
    assert.isNotEmpty(made)
    for (const name of made) assert.isTrue(listed.has(name), name)
  }),
)
