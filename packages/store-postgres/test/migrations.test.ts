/** Migrations: together with others, on top of what is there, and no further than needed. */
import { assert, layer } from "@effect/vitest"
import {
  Secrets,
  SecretsKey,
  SigningSecrets,
  plainSecretNames,
  secretOfSalt,
} from "@messaging-service/core"
import {
  Ids,
  KeyStore,
  LaneQueue,
  MessageStore,
  NumberStore,
  WebhookStore,
  WorkStatus,
  WorkspaceStore,
  dailyQuota,
} from "@messaging-service/core/ports"
import type { MessageId, NumberId, WorkspaceId } from "@messaging-service/core/ports"
import { EmbeddedPostgres, delivering, noon, scopeOf } from "@messaging-service/testkit"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Database } from "../src/database/Database.ts"
import { instant } from "../src/database/Fields.ts"
import { parameterOf, sqlFunction } from "../src/database/Statement.ts"
import type { SqlFunction } from "../src/database/Statement.ts"
import { initial } from "../src/migrations/0001_initial.ts"
import { callbackLanes } from "../src/migrations/0015_callback_lanes.ts"
import { pacing } from "../src/migrations/0021_pacing.ts"
import { pausesBehind } from "../src/migrations/0024_pauses_behind.ts"
import { functions, migrations } from "../src/migrations/index.ts"
import { keepFunctions, migrate } from "../src/migrations/migrate.ts"
import type { Migration } from "../src/migrations/migrate.ts"
import { layerStores } from "../src/stores.ts"
import { aDatabase, aDoor, aProcess, everythingIn, optionsOf } from "./databases.ts"
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

/** So many seconds after noon, in SQL. */
const at = (seconds: number): string =>
  `timestamptz '${new Date(noon + seconds * 1000).toISOString()}'`

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

    it.effect("a live number of the version before is paced from then on, others are not", () =>
      Effect.gen(function* () {
        const door = yield* aDoor(yield* aDatabase)
        yield* Effect.gen(function* () {
          yield* migrate([initial], [])
          for (const text of firstData) yield* door.query("first version", text)
          yield* migrate(migrations.slice(0, pacing.id - 1), [])
          yield* door.query("link", "insert into sessions values (1, 'sealed')")
          yield* door.query("other", firstData[2] ?? "")
          yield* door.query("other", "insert into lanes values (2, 1, true)")
          yield* migrate([pacing], [])
        }).pipe(Effect.provideService(Database, door))
        const rows = yield* door.query("paced", "select pacing from lanes order by number_id")
        assert.deepStrictEqual<unknown>(rows, [
          { pacing: [1000, 2000, 20, 300, null] },
          { pacing: null },
        ])
      }),
    )

    it.effect("a pause of the version before stands, beside the operator's that comes later", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const door = yield* aDoor(database)
        yield* Effect.gen(function* () {
          yield* migrate([initial], [])
          for (const text of firstData) yield* door.query("first version", text)
          yield* migrate(migrations.slice(0, pausesBehind.id - 1), [])
          yield* door.query(
            "pause",
            `update lanes set paused_until = ${at(3600)}, pause_reason = 'restricted'`,
          )
        }).pipe(Effect.provideService(Database, door))
        const stores = yield* aProcess(database)
        yield* Effect.gen(function* () {
          const lanes = yield* LaneQueue
          const paused = (until: number | null) =>
            Effect.gen(function* () {
              yield* lanes.pause(1 as NumberId, { until, reason: "paused" }, noon)
              const store = yield* NumberStore
              return (yield* store.connection(1 as WorkspaceId, 1 as NumberId, noon, dailyQuota))
                ?.pause
            })
          assert.deepStrictEqual(yield* paused(null), { until: null, reason: "paused" })
          assert.deepStrictEqual(yield* paused(noon + 1000), {
            until: noon + 3_600_000,
            reason: "restricted",
          })
          // A server of the version before resumes what counts, and knows of nothing else.
          yield* door.query("resume", "update lanes set paused_until = null, pause_reason = null")
          assert.deepStrictEqual(yield* paused(noon + 2000), {
            until: noon + 2000,
            reason: "paused",
          })
        }).pipe(Effect.provide(stores))
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

    it.effect("callbacks of the version before are made once, which may still be at work", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const door = yield* aDoor(database)
        const inDatabase = Effect.provideService(Database, door)
        yield* inDatabase(migrate([initial], []))
        for (const statement of firstData) yield* door.query("first version", statement)
        yield* inDatabase(
          migrate(
            migrations.filter(({ id }) => id < callbackLanes.id),
            [],
          ),
        )
        const write = (event: string, given: Readonly<Record<string, string>> = {}) => {
          const columns = {
            workspace_id: "1",
            target: "'https://example.com'",
            url: "'https://example.com/told'",
            event_id: `'${event}'`,
            body: "'msg_id=1&status=FAILED&error=No'",
            due_at: at(0),
            ...given,
          }
          const names = Object.keys(columns).join(", ")
          const values = Object.values(columns).join(", ")
          return door.query("write", `insert into callbacks (${names}) values (${values})`)
        }
        const held = { lease: "3", lease_until: at(20) }
        yield* write("due")
        yield* write("parked", { parked: "true" })
        yield* write("retried", { attempts: "2", due_at: at(60) })
        yield* write("held", held)
        yield* write("abandoned", held)
        yield* write("connected", { body: "'event=connected&whatsapp_client=1'", due_at: at(90) })

        const stores = yield* aProcess(database)
        yield* Effect.gen(function* () {
          const claim = (seconds: number) => delivering.claimDue({ now: noon + seconds * 1000 })
          const nextDue = WorkStatus.use((status) => status.nextDue("deliveries"))
          const madeAt = (seconds: number) =>
            Effect.gen(function* () {
              const claimed = yield* claim(seconds)
              yield* delivering.settleDeliveries(
                ...claimed.map((each) => delivering.delivered(each)),
              )
              assert.deepStrictEqual(yield* claim(seconds), [])
              return claimed.map(({ attempt, eventId }) => `${eventId} ${attempt}`).toSorted()
            })

          assert.deepStrictEqual(yield* madeAt(0), ["due 1", "parked 1"])
          assert.strictEqual(yield* nextDue, noon + 20_000)
          // A server of the version before settles what it holds, and one of its own writes more.
          yield* door.query("settle", "delete from callbacks where event_id = 'held'")
          yield* write("written", { due_at: at(1) })
          assert.strictEqual(yield* nextDue, noon + 1000)
          assert.deepStrictEqual(yield* madeAt(1), ["written 1"])
          // What it claims is its own until the lease is over, or until it put it off.
          yield* write("claimed", { ...held, due_at: at(2) })
          assert.deepStrictEqual(yield* madeAt(2), [])
          yield* door.query(
            "put off",
            `update callbacks set attempts = 1, due_at = ${at(10)}, lease_until = null
             where event_id = 'claimed'`,
          )
          assert.deepStrictEqual(yield* madeAt(9), [])
          assert.deepStrictEqual(yield* madeAt(10), ["claimed 2"])
          assert.deepStrictEqual(yield* madeAt(20), ["abandoned 1"])
          assert.deepStrictEqual(yield* madeAt(60), ["retried 3"])
          assert.deepStrictEqual(yield* madeAt(90), ["connected 1"])
          assert.isNull(yield* nextDue)
          const log = yield* WebhookStore.use((store) =>
            store.callbackAttempts(1 as WorkspaceId, { before: null, limit: 9 }),
          )
          assert.deepStrictEqual(
            log.items.map(({ type }) => type),
            ["connected", ...Array.from({ length: 6 }, () => "message.failed" as const)],
          )
        }).pipe(Effect.provide(stores))
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

    it.effect(
      "what an earlier version signed with goes on signing, and is nowhere in the clear",
      () =>
        Effect.gen(function* () {
          const database = yield* aDatabase
          const door = yield* aDoor(database)
          const earlier = migrations.filter(({ id }) => id < 9)
          yield* Effect.provideService(migrate(earlier, []), Database, door)
          const plain = "0123456789abcdef".repeat(4)
          for (const name of plainSecretNames) {
            yield* door.query(
              "store",
              `insert into service_secrets (name, value) values ($1, $2)`,
              [name, plain],
            )
          }
          const stores = yield* aProcess(database)
          const start = Effect.provide(
            SigningSecrets,
            SigningSecrets.layer.pipe(
              Layer.provide(Secrets.layer),
              Layer.provide([SecretsKey.layerHex("5e".repeat(32)), Ids.layerRandom]),
              Layer.provide(Layer.succeedContext(stores)),
            ),
          )
          for (const secrets of yield* Effect.all([start, start, start], {
            concurrency: "unbounded",
          })) {
            assert.strictEqual(secrets.webhooks.of("salt"), secretOfSalt(plain, "salt"))
            assert.strictEqual(secrets.callbacks.of("salt"), secretOfSalt(plain, "salt"))
          }
          assert.notInclude(yield* everythingIn(door), plain)
          // A server of the version before would make another, and sign with that.
          const again = yield* Effect.flip(
            door.query(
              "again",
              `insert into service_secrets (name, value) values ('signing-key', 'another')
             on conflict (name) do update set name = excluded.name`,
            ),
          )
          assert.match(JSON.stringify(again.cause), /refuse_plain_secret/)
        }),
    )
  },
)
