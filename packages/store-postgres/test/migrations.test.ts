/** Migrations: together with others, on top of what is there, and no further than needed. */
import { assert, layer } from "@effect/vitest"
import { KeyStore, MessageStore, NumberStore, WorkspaceStore } from "@messaging-service/core"
import type { MessageId, NumberId, WorkspaceId } from "@messaging-service/core"
import { EmbeddedPostgres, noon, scopeOf } from "@messaging-service/testkit"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Database } from "../src/database/Database.ts"
import { instant } from "../src/database/Fields.ts"
import { parameterOf, sqlFunction } from "../src/database/Statement.ts"
import type { SqlFunction } from "../src/database/Statement.ts"
import { initial } from "../src/migrations/0001_initial.ts"
import { functions, migrations } from "../src/migrations/index.ts"
import { keepFunctions, migrate } from "../src/migrations/migrate.ts"
import type { Migration } from "../src/migrations/migrate.ts"
import { layerStores } from "../src/stores.ts"
import { aDatabase, aDoor, optionsOf } from "./databases.ts"
import { firstData } from "./firstVersion.ts"

/** A later version, such as there will be. */
const later: Migration = {
  id: 9_000,
  name: "later",
  sql: `
alter table workspaces add column region text not null default 'eu';
create table regions (name text primary key);
insert into regions (name) values ('eu');
`,
}

const appliedIds = Effect.gen(function* () {
  const database = yield* Database
  const rows = yield* database.query<{ readonly id: number }>(
    "applied",
    "select id from schema_migrations order by id",
  )
  return rows.map((row) => row.id)
})

layer(EmbeddedPostgres.layer(), { excludeTestServices: true, timeout: "60 seconds" })(
  "migrations",
  (it) => {
    it.effect("of processes that start together each finds the tables, and one makes them", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const doors = yield* Effect.forEach(Array.from({ length: 6 }), () => aDoor(database))
        yield* Effect.forEach(
          doors,
          (door) =>
            Effect.gen(function* () {
              yield* migrate(migrations, functions)
              assert.deepStrictEqual(
                yield* appliedIds,
                migrations.map((migration) => migration.id),
              )
            }).pipe(Effect.provideService(Database, door)),
          { concurrency: "unbounded" },
        )
      }),
    )

    it.effect("a process of a later version finds everything that the first one wrote", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const door = yield* aDoor(database)
        const inDatabase = Effect.provideService(Database, door)
        yield* inDatabase(migrate([initial], []))
        assert.deepStrictEqual(yield* inDatabase(appliedIds), [1])
        for (const statement of firstData) yield* door.query("first version", statement)
        yield* inDatabase(migrate([...migrations, later], functions))
        assert.deepStrictEqual(yield* inDatabase(appliedIds), [
          ...migrations.map((migration) => migration.id),
          later.id,
        ])

        const stores = yield* Layer.build(
          Layer.provide(layerStores, Database.layer(optionsOf(database))),
        )
        yield* Effect.gen(function* () {
          const workspaceId = 1 as WorkspaceId
          const workspace = yield* WorkspaceStore.use((store) => store.get(workspaceId))
          assert.deepStrictEqual(workspace, {
            id: workspaceId,
            name: "Old",
            demo: false,
            accountDisabled: false,
            apiV2Enabled: true,
            plan: {
              name: "Small",
              messagesRemaining: 41,
              reminders: true,
              qrCodeApi: false,
              maxNumbers: 3,
              mediaStorageBytes: 1000,
            },
            retentionDays: null,
            createdAt: noon,
            deletedAt: null,
          })
          const admitted = yield* KeyStore.use((store) =>
            store.admit({
              hash: "a".repeat(64),
              version: 2,
              now: noon,
              minuteStart: noon,
              dayStart: noon,
              clientAddress: null,
            }),
          )
          assert.deepStrictEqual(admitted?.count, { minute: 1, day: 1 })
          const number = yield* NumberStore.use((store) => store.get(workspaceId, 1 as NumberId))
          assert.strictEqual(number?.phone, "15550001")
          const found = yield* MessageStore.use((store) =>
            store.get(scopeOf(workspaceId), 1 as MessageId),
          )
          assert.strictEqual(found?.message.text, "Hello")
          assert.strictEqual(found?.message.dueAt, noon)
        }).pipe(Effect.provide(stores))
      }),
    )

    it.effect("what is applied is not applied again; an earlier version may start later", () =>
      Effect.gen(function* () {
        const inDatabase = Effect.provideService(Database, yield* aDoor(yield* aDatabase))
        yield* inDatabase(migrate([...migrations, later], functions))
        yield* inDatabase(migrate(migrations, functions))
        yield* inDatabase(migrate([...migrations, later], functions))
        assert.strictEqual((yield* inDatabase(appliedIds)).at(-1), later.id)
      }),
    )

    it.effect("a migration that fails leaves nothing behind, and the next start tries again", () =>
      Effect.gen(function* () {
        const inDatabase = Effect.provideService(Database, yield* aDoor(yield* aDatabase))
        const broken: Migration = { ...later, sql: `${later.sql} select 1 / 0;` }
        yield* Effect.flip(inDatabase(migrate([...migrations, broken], functions)))
        yield* inDatabase(migrate([...migrations, later], functions))
        assert.strictEqual((yield* inDatabase(appliedIds)).at(-1), later.id)
      }),
    )

    it.effect("functions of different versions stand side by side", () =>
      Effect.gen(function* () {
        const door = yield* aDoor(yield* aDatabase)
        const inDatabase = Effect.provideService(Database, door)
        const version = (answer: number) =>
          sqlFunction("answer", "", "integer")(`begin return ${answer}; end`)
        yield* inDatabase(migrate([], [version(1)]))
        yield* inDatabase(migrate([], [version(2)]))
        yield* inDatabase(migrate([], [version(1)]))
        for (const answer of [1, 2]) {
          const rows = yield* door.query<{ readonly given: number }>(
            "call",
            `select ${version(answer).name}() as given`,
          )
          assert.deepStrictEqual(rows, [{ given: answer }])
        }
      }),
    )

    it.effect(
      "functions go once no process of their version has run for a month, and not before",
      () =>
        Effect.gen(function* () {
          const door = yield* aDoor(yield* aDatabase)
          const version = (answer: number) =>
            sqlFunction("answer", "", "integer")(`begin return ${answer}; end`)
          const [silent, stopped, running, latest] = [
            version(1),
            version(2),
            version(3),
            version(4),
          ]
          const assertThere = (...functions: ReadonlyArray<SqlFunction>) =>
            Effect.map(
              door.query<{ readonly name: string }>(
                "there",
                `select proname::text as name from pg_proc where proname like 'answer%' order by prosrc`,
              ),
              (rows) =>
                assert.deepStrictEqual(
                  rows.map(({ name }) => name),
                  functions.map(({ name }) => name),
                ),
            )
          const isNoted = Effect.map(
            door.query("noted", `select from function_uses where used_at > $1`, [
              parameterOf(instant, noon),
            ]),
            (rows) => rows.length === 1,
          )
          // Of a version that did not note what it uses.
          yield* door.query("schema", "create schema messaging")
          yield* door.query("silent", silent.create)
          yield* Effect.gen(function* () {
            yield* TestClock.setTime(noon)
            yield* migrate([], [stopped])
            yield* migrate([], [running])
            yield* TestClock.adjust("20 days")
            const process = yield* Effect.forkChild(keepFunctions([running]), {
              startImmediately: true,
            })
            yield* TestClock.adjust("1 hour")
            yield* Effect.repeat(isNoted, { until: (noted) => noted })
            yield* migrate([], [latest])
            yield* assertThere(silent, stopped, running, latest)
            yield* Fiber.interrupt(process)
            yield* TestClock.adjust("11 days")
            yield* migrate([], [latest])
            yield* assertThere(silent, running, latest)
            yield* TestClock.adjust("31 days")
            yield* migrate([], [latest])
            yield* assertThere(silent, latest)
          }).pipe(Effect.provideService(Database, door), Effect.provide(TestClock.layer()))
        }),
    )
  },
)
