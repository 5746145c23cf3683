/** Migrations block no traffic: they take all locks first, and build indexes of large tables concurrently. */
import { assert, it } from "@effect/vitest"
import { sqlFiles } from "../src/sql.generated.ts"
import { addColumns, addIndex, addRule } from "./laterVersion.ts"

/** Tables with a row for each message, event or file. */
const large = new Set([
  "contacts",
  "idempotency_records",
  "lane_recipients",
  "media_files",
  "messages",
  "number_check_results",
  "outbox",
  "reminder_runs",
  "session_keys",
  "simulated_sent",
  "webhook_attempts",
  "webhook_deliveries",
])

const namesIn = (sql: string, words: RegExp): ReadonlyArray<string> =>
  Array.from(sql.matchAll(words), ([, name = ""]) => name)

const findProblems = (sql: string): ReadonlyArray<string> => {
  if (/^\s*(create|drop) index concurrently/.test(sql)) {
    return sql.trim().split(";").length > 2 ? ["more than one statement"] : []
  }
  const [, locked = ""] = /^\s*lock table ([\w, ]+) in access exclusive mode;/.exec(sql) ?? []
  const known = new Set([...locked.split(", "), ...namesIn(sql, /create table (\w+)/g)])
  const indexed = namesIn(sql, /create (?:unique )?index \w+ on (\w+)/g)
  const changed = namesIn(
    sql,
    /(?:alter table|drop table|update|delete from|trigger[^;]* on) (\w+)/g,
  )
  return [
    ...[...indexed, ...changed]
      .filter((name) => !known.has(name))
      .map((name) => `no lock: ${name}`),
    ...indexed.filter((name) => large.has(name)).map((name) => `not concurrently: ${name}`),
  ]
}

it("every migration locks what it changes first, and no large table for an index", () => {
  const files = Object.entries<string>(sqlFiles).filter(([name]) => name.startsWith("migrations/"))
  for (const [name, sql] of files) assert.deepStrictEqual(findProblems(sql), [], name)
  for (const { sql } of [addColumns, addIndex, addRule])
    assert.deepStrictEqual(findProblems(sql), [])
})

it("a migration that would hold others up is found", () => {
  assert.deepStrictEqual(findProblems("alter table lanes add column a text;"), ["no lock: lanes"])
  assert.deepStrictEqual(
    findProblems(
      "lock table lanes, outbox in access exclusive mode; create index a on outbox (b); update lanes set b = 1;",
    ),
    ["not concurrently: outbox"],
  )
  assert.deepStrictEqual(
    findProblems("create index concurrently a on outbox (b); create index c on lanes (d);"),
    ["more than one statement"],
  )
})
