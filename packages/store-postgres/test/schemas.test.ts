/**
 * The schema of the service: several in one database, found whatever the search path is;
 * and what a version before made in `public` stays in use there, and can be moved.
 */
import { assert, layer } from "@effect/vitest"
import { MessageStore, ServiceSecrets, SessionStore, WorkspaceStore } from "@messaging-service/core"
import type { MessageId, NumberId, SendingNumber, WorkspaceId } from "@messaging-service/core"
import {
  EmbeddedPostgres,
  aWorkspace,
  delivering,
  noon,
  scopeOf,
  sending,
} from "@messaging-service/testkit"
import { Effect, Schedule } from "effect"
import { Database } from "../src/database/Database.ts"
import { relations } from "../src/database/Schema.ts"
import { sqlFunction } from "../src/database/Statement.ts"
import { moveToSchema } from "../src/index.ts"
import { initial } from "../src/migrations/0001_initial.ts"
import { migrations } from "../src/migrations/index.ts"
import { migrate } from "../src/migrations/migrate.ts"
import { aBareDatabase, aDatabase, aDoor, aProcess, optionsOf } from "./databases.ts"
import { firstData } from "./firstVersion.ts"

const aFunctionOfTheVersionBefore = sqlFunction("answer", "", "integer")("begin return 1; end")

const isEmpty = WorkspaceStore.use((store) => store.isEmpty)

layer(EmbeddedPostgres.layer(), { excludeTestServices: true, timeout: "60 seconds" })(
  "the schema",
  (it) => {
    it.effect(
      "every table is known to the texts, so that none is looked up by its name alone",
      () =>
        Effect.gen(function* () {
          const database = yield* aDatabase
          yield* aProcess(database)
          const door = yield* aDoor(database)
          const rows = yield* door.query<{ readonly name: string }>(
            "tables",
            "select tablename::text as name from pg_tables where schemaname = 'messaging'",
          )
          assert.deepStrictEqual(rows.map(({ name }) => name).toSorted(), relations.toSorted())
          const elsewhere = yield* door.query(
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
          ServiceSecrets.use((store) => store.getOrCreate("a secret", text))
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

    it.effect("what a version before made in public stays in use there, until it is moved", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        yield* Effect.scoped(
          Effect.gen(function* () {
            const door = yield* aDoor(database, { schema: "public" })
            const inDatabase = Effect.provideService(Database, door)
            yield* inDatabase(migrate([initial], []))
            for (const statement of firstData) yield* door.query("first version", statement)
            yield* inDatabase(migrate(migrations, [aFunctionOfTheVersionBefore]))
            yield* door.query("link", "insert into sessions values (1, 'sealed')")
            yield* door.query(
              "call back",
              `insert into callbacks (workspace_id, target, url, event_id, body, due_at)
               values (1, 'https://example.com', 'https://example.com/told', 'evt_1', 'a=1',
                 '2026-03-02T12:00:00Z')`,
            )
          }),
        )
        const whatIsLeft = Effect.gen(function* () {
          const found = yield* MessageStore.use((store) =>
            store.get(scopeOf(1 as WorkspaceId), 1 as MessageId),
          )
          const session = yield* SessionStore.use((store) => store.credentials(1 as NumberId))
          return [found?.message.text, session]
        })
        const schemaOf = (options = {}) =>
          Effect.scoped(Effect.map(aDoor(database, options), ({ schema }) => schema))
        const left = Effect.scoped(
          Effect.flatMap(aProcess(database), (stores) => Effect.provide(whatIsLeft, stores)),
        )
        assert.strictEqual(yield* schemaOf(), "public")
        assert.deepStrictEqual(yield* left, ["Hello", "sealed"])

        const move = moveToSchema({ ...optionsOf(database), schema: "messaging" })
        const refused = yield* Effect.scoped(Effect.andThen(aProcess(database), Effect.flip(move)))
        assert.match(String(refused.cause), /connections of the service are open/)
        assert.strictEqual(yield* schemaOf(), "public")

        // Connections that were closed are there for a moment more.
        const moved = yield* Effect.retry(move, {
          while: ({ cause }) => /connections of the service are open/.test(String(cause)),
          schedule: Schedule.spaced(20),
          times: 250,
        })
        assert.isTrue(moved)
        assert.isFalse(yield* move)
        assert.strictEqual(yield* schemaOf(), "messaging")
        assert.deepStrictEqual(yield* left, ["Hello", "sealed"])
        // What waited is sent and told from where it is now.
        const stores = yield* aProcess(database)
        const claimed = yield* Effect.provide(
          Effect.gen(function* () {
            const messages = yield* sending.claim([{ id: 1 } as SendingNumber], {
              now: noon + 1000,
            })
            const calls = yield* delivering.claimDue({ now: noon + 1000 })
            return [messages[0]?.message.text, calls[0]?.eventId]
          }),
          stores,
        )
        assert.deepStrictEqual(claimed, ["Hello", "evt_1"])
        const door = yield* aDoor(database)
        const behind = yield* door.query(
          "behind",
          `select c.relname from pg_class c where c.relnamespace = 'public'::regnamespace
           union all
           select p.proname from pg_proc p where p.pronamespace = 'public'::regnamespace`,
        )
        assert.deepStrictEqual(behind, [])
      }),
    )
  },
)
