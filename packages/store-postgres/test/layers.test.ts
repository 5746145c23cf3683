/** The stores as layers: one database for each, however a program is put together. */
import { assert, layer as describeWith } from "@effect/vitest"
import { EmbeddedPostgres, aWorkspace } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { layer } from "../src/index.ts"
import { aDatabase, aDatabaseClient, toOptions } from "./databases.ts"
import { Store } from "@messaging-service/core"

describeWith(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "the stores as layers",
  (it) => {
    it.effect("two databases in one program stay two", () =>
      Effect.gen(function* () {
        const first = layer(toOptions(yield* aDatabase))
        const second = layer(toOptions(yield* aDatabase))
        yield* Effect.gen(function* () {
          yield* aWorkspace()
          const isEmpty = Store.use(({ workspaces: store }) => store.isEmpty)
          assert.isFalse(yield* isEmpty)
          assert.isTrue(yield* Effect.provide(isEmpty, second))
        }).pipe(Effect.provide(first))
      }),
    )

    it.effect("a database that takes no writes does not count as answering", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const client = yield* aDatabaseClient(database)
        yield* Effect.gen(function* () {
          const { ping } = (yield* Store).system
          yield* ping
          yield* client.query(
            "read-only",
            `alter database ${database.database} set default_transaction_read_only = on`,
          )
          yield* client.query(
            "close",
            `select pg_terminate_backend(pid)
            from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()`,
          )
          const because = yield* ping.pipe(
            Effect.flip,
            Effect.map(({ cause }) => String(cause)),
            Effect.repeat({ until: (cause) => cause.includes("read-only"), times: 20 }),
          )
          assert.strictEqual(because, "Error: the database is read-only")
        }).pipe(Effect.provide(layer(toOptions(database))))
      }),
    )

    it.effect("a layer that is used in several places opens one pool", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const stores = layer({ ...toOptions(database), maxConnections: 1 })
        const ping = Layer.effectDiscard(Store.use(({ system: clock }) => clock.ping))
        yield* Layer.build(
          Layer.mergeAll(
            Layer.provide(Layer.fresh(ping), stores),
            Layer.provide(Layer.fresh(ping), stores),
            stores,
          ),
        )
        const client = yield* aDatabaseClient(database)
        const rows = yield* client.query<{ readonly count: number }>(
          "count",
          `select count(*)::integer as count
          from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()
            and backend_type = 'client backend'`,
        )
        assert.deepStrictEqual(rows, [{ count: 1 }])
      }),
    )
  },
)
