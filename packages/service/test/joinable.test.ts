/** Transactions of pg and postgres.js, and `joinable` of Drizzle and Kysely with a program's own schema and strict types. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { relations } from "drizzle-orm"
import { drizzle as drizzleOnPg } from "drizzle-orm/node-postgres"
import { integer, pgTable, text } from "drizzle-orm/pg-core"
import { drizzle as drizzleOnPostgresJs } from "drizzle-orm/postgres-js"
import { Effect } from "effect"
import { Kysely, PostgresDialect } from "kysely"
import { Pool } from "pg"
import postgres from "postgres"
import { joinable as joinableOfDrizzle } from "../src/drizzle.ts"
import { joinable as joinableOfKysely } from "../src/kysely.ts"
import type { Transaction } from "../src/index.ts"
import { aDatabase, aShop, failure, opened, phone } from "./Opened.ts"

const customers = pgTable("customers", { id: integer("id").primaryKey(), name: text("name") })
const orders = pgTable("orders", {
  id: integer("id").primaryKey(),
  customerId: integer("customer_id").references(() => customers.id),
})
const schema = {
  customers,
  orders,
  customersRelations: relations(customers, ({ many }) => ({ orders: many(orders) })),
  ordersRelations: relations(orders, ({ one }) => ({
    customer: one(customers, { fields: [orders.customerId], references: [customers.id] }),
  })),
}

interface Tables {
  readonly orders: { readonly id: number; readonly customer_id: number | null }
}

/** Work in a transaction: a joinable, and an insert of an order into it. */
interface Work {
  (transaction: Transaction, insert: (id: number) => Promise<unknown>): Promise<void>
}

interface Library {
  readonly transact: (work: Work) => Promise<void>
  readonly close: () => Promise<void>
}

interface Database {
  readonly url: string
  readonly path: string
  readonly username: string
  readonly database: string
}

/** As programs open them. */
const libraries: Readonly<Record<string, (database: Database) => Library>> = {
  pg: ({ url }) => {
    const pool = new Pool({ connectionString: url })
    return {
      transact: async (work) => {
        const client = await pool.connect()
        await client.query("begin")
        try {
          await work(client, (id) => client.query("insert into orders values ($1, 1)", [id]))
          await client.query("commit")
        } catch (error) {
          await client.query("rollback")
          throw error
        } finally {
          client.release()
        }
      },
      close: () => pool.end(),
    }
  },
  "postgres.js": ({ database, path, username }) => {
    const sql = postgres({ path, username, database, onnotice: () => undefined })
    return {
      transact: async (work) => {
        await sql.begin((tx) =>
          work(
            { query: async (text, values) => ({ rows: await tx.unsafe(text, values) }) },
            (id) => tx`insert into orders values (${id}, 1)`,
          ),
        )
      },
      close: () => sql.end(),
    }
  },
  "Drizzle with a schema, on pg": ({ url }) => {
    const db = drizzleOnPg(url, { schema })
    // @ts-expect-error The database is not a transaction.
    assert.isFunction(joinableOfDrizzle(db).query)
    return {
      transact: (work) =>
        db.transaction((tx) =>
          work(joinableOfDrizzle(tx), (id) => tx.insert(orders).values({ id, customerId: 1 })),
        ),
      close: () => db.$client.end(),
    }
  },
  "Drizzle without one": ({ url }) => {
    const db = drizzleOnPg(url)
    return {
      transact: (work) =>
        db.transaction((tx) =>
          tx.transaction((nested) =>
            work(joinableOfDrizzle(nested), (id) => nested.insert(orders).values({ id })),
          ),
        ),
      close: () => db.$client.end(),
    }
  },
  "Drizzle with a schema, on postgres.js": ({ database, path, username }) => {
    const client = postgres({ path, username, database, onnotice: () => undefined })
    const db = drizzleOnPostgresJs(client, { schema })
    return {
      transact: (work) =>
        db.transaction((tx) =>
          work(joinableOfDrizzle(tx), (id) => tx.insert(orders).values({ id, customerId: 1 })),
        ),
      close: () => client.end(),
    }
  },
  Kysely: ({ url }) => {
    const pool = new Pool({ connectionString: url })
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    // @ts-expect-error The database is not a transaction.
    assert.isFunction(joinableOfKysely(db).query)
    return {
      transact: (work) =>
        db
          .transaction()
          .execute((tx) =>
            work(joinableOfKysely(tx), (id) =>
              tx.insertInto("orders").values({ id, customer_id: 1 }).execute(),
            ),
          ),
      close: () => db.destroy(),
    }
  },
}

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })("sends and cancels join", (it) => {
  for (const [name, open] of Object.entries(libraries)) {
    it.effect(`a transaction of ${name}`, () =>
      Effect.gen(function* () {
        const { options, ...address } = yield* aDatabase
        yield* Effect.promise(async () => {
          const own = new Pool({ connectionString: options.store.postgres })
          await own.query("create table customers (id integer primary key, name text)")
          await own.query("create table orders (id integer primary key, customer_id integer)")
          const messaging = await opened({ ...options, worker: false })
          const { api } = await aShop(messaging)
          const library = open({ ...address, url: options.store.postgres })
          const words = `$1 'quoted' "twice" \\ {a,b} ✓`
          const changed = new Error("I changed my mind")

          await library.transact(async (transaction, insert) => {
            await insert(1)
            const refused = await failure(
              api.messages.send({ to: { phone }, text: "" }, { transaction }),
            )
            assert.strictEqual(refused.code, "text_required")
            await Promise.all(
              [words, "null"].map((text, at) =>
                api.messages.send(
                  { to: { phone }, text },
                  { transaction, idempotencyKey: `order ${at}` },
                ),
              ),
            )
          })
          const rolledBack = await library
            .transact(async (transaction, insert) => {
              await insert(2)
              await api.messages.send({ to: { phone }, text: "Never" }, { transaction })
              throw changed
            })
            .catch((error: unknown) => error)
          assert.strictEqual(rolledBack, changed)

          const { rows } = await own.query("select id from orders")
          assert.deepStrictEqual(rows, [{ id: 1 }])
          const { items } = await api.messages.list().page()
          assert.sameMembers(
            items.map((message) => message.text),
            [words, "null"],
          )

          // One is moved, in a transaction that is rolled back first.
          const [first] = items
          const move = (id: number, text: string, ends: () => void) =>
            library.transact(async (transaction, insert) => {
              await insert(id)
              const cancelled = await api.messages.cancel(first?.id ?? 0, { transaction })
              assert.strictEqual(cancelled.status, "cancelled")
              const again = await failure(api.messages.cancel(first?.id ?? 0, { transaction }))
              assert.strictEqual(again.code, "not_cancellable")
              await api.messages.send({ to: { phone }, text }, { transaction })
              ends()
            })
          await move(3, "Never", () => {
            throw changed
          }).catch((error: unknown) => assert.strictEqual(error, changed))
          assert.strictEqual((await api.messages.get(first?.id ?? 0)).status, "queued")
          await move(3, "Moved", () => undefined)
          const after = await api.messages.list({ status: ["queued", "cancelled"] }).page()
          assert.sameMembers(
            after.items.map(({ status, text }) => `${text} ${status}`),
            items
              .map(({ id, text }) => `${text} ${id === first?.id ? "cancelled" : "queued"}`)
              .concat("Moved queued"),
          )
          await library.close()
          await own.end()
        })
      }),
    )
  }
})
