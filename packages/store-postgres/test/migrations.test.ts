/** Migrations: together with others, on top of what is there, and no further than needed. */
import { assert, layer } from "@effect/vitest"
import { version } from "@messaging-service/core"
import { EmbeddedPostgres, noon } from "@messaging-service/testkit"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeBuild, codeSchema, thisBuild } from "../src/database/build.ts"
import type { Build } from "../src/database/build.ts"
import { Database } from "../src/database/Database.ts"
import type { DatabaseService } from "../src/database/Database.ts"
import { toParameter } from "../src/database/Sql.ts"
import { schema } from "../src/migrations/index.ts"
import { keepBuild, migrate } from "../src/migrations/migrate.ts"
import type { Migration, Schema } from "../src/migrations/migrate.ts"
import { readCatalogue } from "./catalogue.ts"
import { aDatabase, aDatabaseClient } from "./databases.ts"
import { addColumns, addIndex, addRule, later, withMigrations } from "./laterVersion.ts"

const toIds = ({ migrations }: Schema) => [1, ...migrations.map(({ id }) => id)]

const appliedIds = Effect.gen(function* () {
  const database = yield* Database
  const rows = yield* database.query<{ readonly id: number }>(
    "applied",
    "select id from schema_migrations order by id",
  )
  return rows.map((row) => row.id)
})

/** Brings that database to that version. */
const bring = (database: DatabaseService, expected: Schema, installed = thisBuild) =>
  Effect.provideService(
    Effect.andThen(migrate(expected, installed), appliedIds),
    Database,
    database,
  )

/** One with a function that returns that answer. */
const aBuild = (answer: number): Build =>
  makeBuild([
    `create function answer() returns integer
    language sql immutable
    return ${answer};`,
  ])

/** What processes that know the index do not use any more. */
const removeRegion: Migration = {
  id: 9_004,
  name: "remove_region",
  sql: "lock table lanes in access exclusive mode; alter table lanes drop column region;",
  oldest: addIndex.id,
}

const getLine = ({ cause }: { readonly cause: unknown }) => (cause as Error).message

layer(EmbeddedPostgres.shared, { excludeTestServices: true })("migrations", (it) => {
  it.effect("of processes that start together each finds the tables, and one makes them", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const databases = yield* Effect.forEach(Array.from({ length: 6 }), () =>
        aDatabaseClient(database),
      )
      for (const expected of [schema, later]) {
        const applied = yield* Effect.forEach(databases, (client) => bring(client, expected), {
          concurrency: "unbounded",
        })
        assert.deepStrictEqual(
          applied,
          databases.map(() => toIds(expected)),
        )
      }
    }),
  )

  it.effect("a new database holds what migrations lead to", () =>
    Effect.gen(function* () {
      const [database, upgraded] = [
        yield* aDatabaseClient(yield* aDatabase),
        yield* aDatabaseClient(yield* aDatabase),
      ]
      assert.deepStrictEqual(yield* bring(database, later), toIds(later))
      yield* bring(upgraded, schema)
      assert.deepStrictEqual(yield* bring(upgraded, later), toIds(later))
      assert.deepStrictEqual(yield* readCatalogue(upgraded), yield* readCatalogue(database))
    }),
  )

  it.effect("what is applied is not applied again; an earlier version may start later", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      for (const expected of [later, schema, later]) yield* bring(database, expected)
      assert.deepStrictEqual(yield* bring(database, schema), toIds(later))
    }),
  )

  it.effect("a version that cannot work with what a later one made is refused in one line", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      yield* bring(database, schema)
      yield* bring(database, withMigrations(addColumns, addIndex, addRule, removeRegion))
      yield* bring(database, withMigrations(addColumns, addIndex))
      for (const tooOld of [schema, withMigrations(addColumns)]) {
        assert.strictEqual(
          getLine(yield* Effect.flip(bring(database, tooOld))),
          `version ${version} has upgraded the schema "messaging" (migration 9004, remove_region); older ones such as this, ${version}, cannot work with it`,
        )
      }
    }),
  )

  it.effect("a removal takes along the rules of builds that are too old for it", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      const old = makeBuild([
        `create function is_near(l lanes) returns boolean
          language sql immutable
          return l.region = 'eu';`,
      ])
      const kept = aBuild(1)
      const before = withMigrations(addColumns, addIndex)
      yield* bring(database, schema)
      yield* bring(database, withMigrations(addColumns), old)
      yield* bring(database, before, kept)
      yield* bring(database, withMigrations(addColumns, addIndex, addRule, removeRegion))
      const rows = yield* database.query<{ readonly name: string }>(
        "builds",
        `select b.name from builds b join pg_namespace n on n.nspname = b.name`,
      )
      assert.sameMembers(
        rows.map(({ name }) => name),
        [kept, thisBuild].map((build) => codeSchema("messaging", build)),
      )
    }),
  )

  it.effect("a migration that fails leaves nothing behind, and the next start tries again", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      yield* bring(database, schema)
      const broken: Migration = { ...addColumns, sql: `${addColumns.sql} select 1 / 0;` }
      yield* Effect.flip(bring(database, withMigrations(broken)))
      assert.deepStrictEqual(yield* bring(database, later), toIds(later))
    }),
  )

  it.effect("an index whose making was broken off is made again", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      yield* bring(database, schema)
      yield* bring(database, withMigrations(addColumns))
      const index = `
          select i.indisvalid as valid
          from pg_index i
          where i.indexrelid = 'messaging.messages_by_topic'::regclass`
      yield* database.query("make", "create index messages_by_topic on messaging.messages (id)")
      yield* database.query(
        "break",
        `update pg_index i set indisvalid = false
           where i.indexrelid = 'messaging.messages_by_topic'::regclass`,
      )
      yield* bring(database, later)
      assert.deepStrictEqual<unknown>(yield* database.query("look", index), [{ valid: true }])
      const created = yield* aDatabaseClient(yield* aDatabase)
      yield* bring(created, later)
      assert.deepStrictEqual(yield* readCatalogue(database), yield* readCatalogue(created))
    }),
  )

  it.effect("a migration gives its locks back to a transaction that holds one it waits for", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      yield* bring(database, schema)
      const isWaiting = Effect.map(
        database.query("waiting", "select from pg_locks l where not l.granted"),
        (rows) => rows.length > 0,
      )
      let tries = 0
      const upgrade = yield* database.transaction("hold", (run) =>
        Effect.gen(function* () {
          tries++
          // It would be the victim of a deadlock, and tried again.
          yield* run("set local deadlock_timeout = '500ms'")
          // The last that the migration locks, and then the first.
          yield* run("select from webhook_deliveries")
          const started = yield* Effect.forkDetach(bring(database, later), {
            startImmediately: true,
          })
          yield* Effect.orDie(Effect.repeat(isWaiting, { until: (waits) => waits }))
          yield* run("select from lanes")
          return started
        }),
      )
      assert.deepStrictEqual(yield* Fiber.join(upgrade), toIds(later))
      assert.strictEqual(tries, 1)
    }),
  )

  it.effect("functions of different builds coexist", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      for (const answer of [1, 2, 1]) yield* bring(database, schema, aBuild(answer))
      for (const answer of [1, 2]) {
        const rows = yield* database.query<{ readonly given: number }>(
          "call",
          `select ${codeSchema("messaging", aBuild(answer))}.answer() as given`,
        )
        assert.deepStrictEqual(rows, [{ given: answer }])
      }
    }),
  )

  it.effect("a build goes once no process has used it for a month, and not before", () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      const [stopped, running, latest] = [aBuild(1), aBuild(2), aBuild(3)]
      const assertThere = (...expected: ReadonlyArray<Build>) =>
        Effect.map(
          database.query<{ readonly name: string }>(
            "there",
            "select nspname::text as name from pg_namespace where nspname like 'messaging\\_%'",
          ),
          (rows) =>
            assert.sameMembers(
              rows.map(({ name }) => name),
              expected.map((build) => codeSchema("messaging", build)),
            ),
        )
      const isNoted = Effect.map(
        database.query("noted", `select from builds where used_at > $1`, [
          toParameter("timestamptz", noon + 20 * 24 * 60 * 60_000),
        ]),
        (rows) => rows.length === 1,
      )
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(noon)
        yield* migrate(schema, stopped)
        yield* migrate(schema, running)
        yield* TestClock.adjust("20 days")
        const process = yield* Effect.forkChild(keepBuild(schema, running), {
          startImmediately: true,
        })
        yield* TestClock.adjust("1 hour")
        yield* Effect.repeat(isNoted, { until: (noted) => noted })
        yield* migrate(schema, latest)
        yield* assertThere(stopped, running, latest)
        yield* Fiber.interrupt(process)
        yield* TestClock.adjust("11 days")
        yield* migrate(schema, latest)
        yield* assertThere(running, latest)
        yield* TestClock.adjust("31 days")
        yield* migrate(schema, latest)
        yield* assertThere(latest)
      }).pipe(Effect.provideService(Database, database), Effect.provide(TestClock.layer()))
    }),
  )
})
