/** Transactions on a database other than the service's own. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { dirname } from "node:path"
import { Pool } from "pg"
import { aDatabase, aShop, all, failure, opened, phone } from "./Opened.ts"

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "next to the service's own PostgreSQL",
  (it) => {
    it.effect("a transaction on any other database is refused, and nothing is written there", () =>
      Effect.gen(function* () {
        const postgres = yield* EmbeddedPostgres
        const { database: copied, options, path, username } = yield* aDatabase
        const anOpenShop = async () => {
          const messaging = await opened({ ...options, worker: false })
          const { api, shop } = await aShop(messaging)
          const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
          return { messaging, api, callers: [api, messaging.withKey(key)] }
        }
        // A copy has no connections.
        yield* Effect.promise(async () => (await anOpenShop()).messaging.close())
        const others = {
          "of another service": (yield* aDatabase).database,
          "that is a copy": (yield* postgres.createDatabase(copied)).database,
          "without a service": (yield* postgres.createDatabase()).database,
        }
        yield* Effect.promise(async () => {
          const { api: own, callers } = await anOpenShop()
          for (const [name, database] of Object.entries(others)) {
            const pool = new Pool({ host: dirname(path), user: username, database, max: 2 })
            if (name === "of another service") {
              const store = { pool }
              const other = await opened({ ...options, store, worker: false })
              await aShop(other)
              await other.close()
            }
            const client = await pool.connect()
            for (const api of callers) {
              await client.query("begin")
              const { code, field, message } = await failure(
                api.messages.send({ to: { phone }, text: "No" }, { transaction: client }),
              )
              assert.deepStrictEqual([code, field], ["validation_failed", "transaction"], name)
              assert.match(message, /must be on the database/)
              // It is usable and unchanged.
              const { rows } = await client.query("show idle_in_transaction_session_timeout")
              assert.deepStrictEqual(Object.values(rows[0]), ["0"])
              await client.query("commit")
            }
            if (name !== "without a service") {
              const { rows } = await client.query("select from messaging.messages")
              assert.lengthOf(rows, 0)
            }
            client.release()
            await pool.end()
          }
          assert.lengthOf(await all(own.messages.list()), 0)
        })
      }),
    )

    it.effect(
      "a transaction on a restored dump is refused, also where its database has the same id",
      () =>
        Effect.gen(function* () {
          const { options, ...address } = yield* aDatabase
          const elsewhere = yield* Layer.build(Layer.fresh(EmbeddedPostgres.layer()))
          const spare = yield* Effect.provideContext(
            Effect.flatMap(EmbeddedPostgres, (postgres) => postgres.createDatabase()),
            elsewhere,
          )
          const makePool = (on: Pick<typeof spare, "path" | "username">, name: string) =>
            new Pool({ host: dirname(on.path), user: on.username, database: name, max: 2 })
          yield* Effect.promise(async () => {
            const { api } = await aShop(await opened({ ...options, worker: false }))
            const [own, first] = [
              makePool(address, address.database),
              makePool(spare, spare.database),
            ]
            const { rows } = await own.query(`select d.oid, s.value
            from pg_database d, messaging.service_secrets s
            where d.datname = current_database() and s.name = 'store-identity'`)
            await first.query(`create database restored oid = ${rows[0].oid}`)
            const restored = makePool(spare, "restored")
            // A dump creates tables in its own order.
            await restored.query("create table made_before (id integer)")
            const other = await opened({ ...options, store: { pool: restored }, worker: false })
            await aShop(other)
            await other.close()
            await restored.query(
              "update messaging.service_secrets set value = $1 where name = 'store-identity'",
              [rows[0].value],
            )
            const client = await restored.connect()
            await client.query("begin")
            const { code, message } = await failure(
              api.messages.send({ to: { phone }, text: "No" }, { transaction: client }),
            )
            assert.strictEqual(code, "validation_failed")
            assert.match(message, /must be on the database/)
            await client.query("commit")
            client.release()
            await Promise.all([own, first, restored].map((pool) => pool.end()))
          })
        }),
    )
  },
)
