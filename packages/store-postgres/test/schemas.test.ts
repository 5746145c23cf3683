/** The schema of the service: several in one database, found whatever the search path is. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, aWorkspace } from "@messaging-service/testkit"
import { Effect } from "effect"
import { relations } from "../src/database/Schema.ts"
import { aBareDatabase, aDatabase, aDatabaseClient, aProcess } from "./databases.ts"
import { Store } from "@messaging-service/core"

const isEmpty = Store.use(({ workspaces: store }) => store.isEmpty)

layer(EmbeddedPostgres.shared, { excludeTestServices: true })("the schema", (it) => {
  it.effect("every table is known to the texts, so that none is looked up by its name alone", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      yield* aProcess(database)
      const client = yield* aDatabaseClient(database)
      const rows = yield* client.query<{ readonly name: string }>(
        "tables",
        "select tablename::text as name from pg_tables where schemaname = 'messaging'",
      )
      assert.deepStrictEqual(rows.map(({ name }) => name).toSorted(), relations.toSorted())
      const elsewhere = yield* client.query(
        "others",
        `select c.relname from pg_class c
           where c.relnamespace = 'public'::regnamespace
           union all
           select p.proname from pg_proc p
           where p.pronamespace = 'public'::regnamespace`,
      )
      assert.deepStrictEqual(elsewhere, [])
    }),
  )

  it.effect("two services in one database know nothing of one another", () =>
    Effect.gen(function* () {
      const database = yield* aBareDatabase
      const one = yield* aProcess(database, { schema: "one" })
      const two = yield* aProcess(database, { schema: "two" })
      yield* Effect.provide(aWorkspace(), one)
      assert.isFalse(yield* Effect.provide(isEmpty, one))
      assert.isTrue(yield* Effect.provide(isEmpty, two))
      const secret = (text: string) =>
        Store.use(({ system: store }) => store.getOrCreateSecret("a secret", text))
      assert.strictEqual(yield* Effect.provide(secret("first"), one), "first")
      assert.strictEqual(yield* Effect.provide(secret("second"), two), "second")
    }),
  )

  it.effect("a name that cannot be a schema's is refused with one line", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(aProcess(yield* aDatabase, { schema: 'a"; drop' }))
      assert.match(String((error.cause as Error).message), /^the schema "a"; drop" must be /)
    }),
  )
})
