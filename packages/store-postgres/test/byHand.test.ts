/** The tables, rules and functions of `sql/` run unchanged, by psql or any client. */
import { assert, it, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readFileSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { codeSchema } from "../src/database/build.ts"
import { readCatalogue } from "./catalogue.ts"
import { aDatabase, aDatabaseClient, aPool, aProcess } from "./databases.ts"

const folder = resolve(import.meta.dirname, "../sql")

const readText = (name: string): string => readFileSync(join(folder, name), "utf8")

const functions = readdirSync(join(folder, "functions"))
  .toSorted()
  .map((name) => readText(`functions/${name}`))

const functionsIn = `
  select p.proname::text as name
  from pg_proc p
  where p.pronamespace = '${codeSchema("messaging")}'::regnamespace
  order by p.proname`

layer(EmbeddedPostgres.shared, { excludeTestServices: true })("the files of SQL", (it) => {
  it.effect("make by hand what a start makes", () =>
    Effect.gen(function* () {
      const [testDatabase, byHand] = [yield* aDatabase, yield* aDatabase]
      yield* aProcess(testDatabase)
      const pool = yield* aPool(byHand)
      const code = codeSchema("messaging")
      yield* Effect.promise(async () => {
        const client = await pool.connect()
        await client.query("create schema messaging; set search_path = messaging, pg_temp")
        await client.query(readText("schema.sql"))
        await client.query(`create schema ${code}; set search_path = ${code}, messaging, pg_temp`)
        for (const text of [readText("rules.sql"), ...functions]) await client.query(text)
        client.release()
      })
      const [one, other] = [yield* aDatabaseClient(byHand), yield* aDatabaseClient(testDatabase)]
      assert.deepStrictEqual(yield* readCatalogue(one), yield* readCatalogue(other))
      const named = (rows: ReadonlyArray<{ readonly name: string }>) => rows.map(({ name }) => name)
      assert.deepStrictEqual(
        named(yield* one.query<{ readonly name: string }>("functions", functionsIn)),
        named(yield* other.query<{ readonly name: string }>("functions", functionsIn)),
      )
    }),
  )
})

it("schema.sql says of each table what it holds, and of each index what it serves", () => {
  const lines = readText("schema.sql").split("\n")
  const bare = lines.filter(
    (line, index) =>
      /^create (unlogged )?(table|index|unique index) /.test(line) &&
      !/^-- .*\w/.test(lines[index - 1] ?? ""),
  )
  assert.deepStrictEqual(bare, [])
})
