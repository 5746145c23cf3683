/** Sends inside transactions of other libraries than `pg`, with the functions of the page on embedding. */
import { open } from "@messaging-service/service"
import type { Api, MessagingError, Transaction } from "@messaging-service/service"
import { joinable as joinableOfDrizzle } from "@messaging-service/service/drizzle"
import { joinable as joinableOfKysely } from "@messaging-service/service/kysely"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { assert, layer } from "@effect/vitest"
import { PrismaPg } from "@prisma/adapter-pg"
import { getPrismaClient } from "@prisma/client/runtime/client"
import { drizzle } from "drizzle-orm/node-postgres"
import { sql } from "drizzle-orm"
import { Context, Effect, Layer, Redacted } from "effect"
import { Kysely, PostgresDialect, sql as kyselySql } from "kysely"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { Pool } from "pg"
import postgres from "postgres"
import * as WithDrizzle from "../src/transactions/drizzle.ts"
import * as WithKysely from "../src/transactions/kysely.ts"
import type { Tables } from "../src/transactions/kysely.ts"
import * as WithPostgresJs from "../src/transactions/postgresJs.ts"
import * as WithPrisma from "../src/transactions/prisma.ts"
import type { Prisma } from "../src/transactions/prisma.ts"

interface WithWebAssembly {
  readonly WebAssembly: { readonly Module: new (bytes: Uint8Array) => object }
}

interface Work {
  (transaction: Transaction, insert: (id: number) => Promise<unknown>): Promise<unknown>
}

interface Opened {
  /** As the page shows it. */
  readonly place: (api: Api, id: number) => Promise<unknown>
  /** A transaction of the library, rolled back if the work rejects. */
  readonly within: (work: Work) => Promise<unknown>
  readonly close: () => Promise<unknown>
}

const toAddress = ({ database, path, username }: TestDatabase) => ({
  host: dirname(path),
  user: username,
  database,
})

/** Node's types do not name it. */
const { Module: Compiled } = (globalThis as unknown as WithWebAssembly).WebAssembly

const require = createRequire(import.meta.url)
const compiler = "@prisma/client/runtime/query_compiler_fast_bg.postgresql"

/**
 * The output of Prisma's command for a schema without models. Built here, because the command
 * downloads a program.
 */
const PrismaClient = getPrismaClient({
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "7.10.0",
  activeProvider: "postgresql",
  inlineSchema: 'datasource db { provider = "postgresql" }',
  // No nodes at all.
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: async () => require(`${compiler}.js`),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = require(`${compiler}.wasm-base64.js`) as { readonly wasm: string }
      return new Compiled(Buffer.from(wasm, "base64"))
    },
    importName: "./query_compiler_fast_bg.js",
  },
})

const libraries: Readonly<Record<string, (database: TestDatabase) => Opened>> = {
  "postgres.js": ({ database, path, username }) => {
    const client = postgres({ path, username, database, onnotice: () => undefined })
    return {
      place: (api, id) => WithPostgresJs.place(client, api, id),
      within: (work) =>
        client.begin((tx) =>
          work(WithPostgresJs.joinable(tx), (id) => tx`insert into public.orders values (${id})`),
        ),
      close: () => client.end(),
    }
  },
  Drizzle: (database) => {
    const pool = new Pool(toAddress(database))
    const db = drizzle(pool, { schema: WithDrizzle.schema })
    return {
      place: (api, id) => WithDrizzle.place(db, api, id),
      within: (work) =>
        db.transaction((tx) =>
          work(joinableOfDrizzle(tx), (id) =>
            tx.execute(sql`insert into public.orders values (${id})`),
          ),
        ),
      close: () => pool.end(),
    }
  },
  Kysely: (database) => {
    const db = new Kysely<Tables>({
      dialect: new PostgresDialect({ pool: new Pool(toAddress(database)) }),
    })
    return {
      place: (api, id) => WithKysely.place(db, api, id),
      within: (work) =>
        db
          .transaction()
          .execute((tx) =>
            work(joinableOfKysely(tx), (id) =>
              kyselySql`insert into public.orders values (${id})`.execute(tx),
            ),
          ),
      close: () => db.destroy(),
    }
  },
  Prisma: (database) => {
    const client = new PrismaClient({
      adapter: new PrismaPg(toAddress(database)),
    })
    const prisma = client as Prisma
    return {
      place: (api, id) => WithPrisma.place(prisma, api, id),
      within: (work) =>
        prisma.$transaction((tx) =>
          work(
            WithPrisma.joinable(tx),
            (id) => tx.$executeRaw`insert into public.orders values (${id})`,
          ),
        ),
      close: () => client.$disconnect(),
    }
  },
}

const phone = "+15550100002"

const failure = async (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail("it did not fail"),
    (error: MessagingError) => error,
  )

/** A workspace with a program that stores its orders with that library. */
class Shop extends Context.Service<
  Shop,
  Opened & {
    readonly api: Api
    /** The same library on another database. */
    readonly apart: Opened
    readonly send: (text: string, transaction: Transaction) => Promise<unknown>
    /** The new orders and message texts since the last call; sends the messages. */
    readonly placed: () => Promise<{
      readonly orders: ReadonlyArray<number>
      readonly texts: ReadonlyArray<string>
    }>
  }
>()("test/Shop") {
  static readonly layer = (opening: (database: TestDatabase) => Opened) =>
    Layer.effect(
      Shop,
      Effect.gen(function* () {
        const database = yield* (yield* EmbeddedPostgres).createDatabase()
        const store = { postgres: Redacted.value(database.url) }
        const dataDirectory = yield* processes.temporaryDirectory
        const own = yield* Effect.acquireRelease(
          Effect.sync(() => new Pool(toAddress(database))),
          (pool) => Effect.promise(() => pool.end()),
        )
        const messaging = yield* Effect.acquireRelease(
          Effect.promise(() => open({ store, dataDirectory, worker: false })),
          ({ close }) => Effect.promise(close),
        )
        const openedOn = (location: TestDatabase) =>
          Effect.acquireRelease(
            Effect.sync(() => opening(location)),
            ({ close }) => Effect.promise(close),
          )
        const library = yield* openedOn(database)
        const apart = yield* openedOn(yield* (yield* EmbeddedPostgres).createDatabase())
        const api = yield* Effect.promise(async () => {
          await own.query("create table public.orders (id integer primary key)")
          const numbers = [{ phone: "+15550100001" }]
          return messaging.as(await messaging.workspaces.ensure("shop", { numbers }))
        })
        let lastCount = 0
        return Shop.of({
          ...library,
          api,
          apart,
          send: (text, transaction) => api.messages.send({ to: { phone }, text }, { transaction }),
          placed: async () => {
            const { rows } = await own.query("delete from public.orders returning id")
            await messaging.drain()
            const { items } = await api.messages.list({ limit: 100 }).page()
            const sent = items.filter(({ id, status }) => id > lastCount && status === "sent")
            lastCount = items[0]?.id ?? 0
            return {
              orders: rows.map(({ id }) => Number(id)),
              texts: sent.map(({ text }) => text).toReversed(),
            }
          },
        })
      }),
    )
}

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "a send inside a transaction",
  (it) => {
    for (const [name, opening] of Object.entries(libraries)) {
      it.layer(Shop.layer(opening))(`of ${name}`, (it) => {
        it.effect("exists once it commits, and not after a rollback", () =>
          Effect.gen(function* () {
            const { api, placed, place, send, within } = yield* Shop
            yield* Effect.promise(async () => {
              await place(api, 1)
              const changed = new Error("I changed my mind")
              const rolledBack = within(async (transaction, insert) => {
                await insert(2)
                await send("Order 2 is placed.", transaction)
                throw changed
              })
              assert.strictEqual(await failure(rolledBack), changed)
              await place(api, 3)
              assert.deepStrictEqual(await placed(), {
                orders: [1, 3],
                texts: ["Order 1 is placed.", "Order 3 is placed."],
              })
            })
          }),
        )

        it.effect("leaves the transaction usable when refused", () =>
          Effect.gen(function* () {
            const { placed, send, within } = yield* Shop
            yield* Effect.promise(async () => {
              await within(async (transaction, insert) => {
                await insert(1)
                assert.strictEqual((await failure(send("", transaction))).code, "text_required")
                await insert(2)
                await send("Both are placed.", transaction)
              })
              // Uncaught, the refusal fails the transaction.
              const refused = await failure(
                within(async (transaction, insert) => {
                  await insert(3)
                  await send("", transaction)
                }),
              )
              assert.strictEqual(refused.code, "text_required")
              assert.deepStrictEqual(await placed(), {
                orders: [1, 2],
                texts: ["Both are placed."],
              })
            })
          }),
        )

        it.effect("accepts any text, and two at once", () =>
          Effect.gen(function* () {
            const { placed, send, within } = yield* Shop
            yield* Effect.promise(async () => {
              const texts = [`$1 'quoted' "twice" \\ {a,b} ✓`, "null"]
              await within(async (transaction) => {
                await Promise.all(texts.map((text) => send(text, transaction)))
              })
              assert.sameMembers([...(await placed()).texts], texts)
            })
          }),
        )

        it.effect("names why a transaction cannot be joined", () =>
          Effect.gen(function* () {
            const { apart, api, placed, send, within } = yield* Shop
            yield* Effect.promise(async () => {
              const refused = async (reason: RegExp, before: Work, inside = within) => {
                let refusal: MessagingError | undefined
                await failure(
                  inside(async (transaction, insert) => {
                    await before(transaction, insert)
                    refusal = await failure(send("No", transaction))
                    throw refusal
                  }),
                )
                assert.strictEqual(refusal?.code, "validation_failed")
                assert.match(refusal?.message ?? "", reason)
              }
              await refused(/has failed before/, async (_, insert) => {
                await insert(1)
                await failure(insert(1))
              })
              await refused(/cannot be serialised/, async ({ query }) => {
                await query("set transaction isolation level repeatable read", [])
                await query("select 1 as one", [])
                await api.messages.send({ to: { phone }, text: "Meanwhile" })
              })
              await refused(/is read-only/, ({ query }) => query("set transaction read only", []))
              await refused(/must be on the database/, () => Promise.resolve(), apart.within)
              assert.deepStrictEqual(await placed(), { orders: [], texts: ["Meanwhile"] })
            })
          }),
        )
      })
    }
  },
)
