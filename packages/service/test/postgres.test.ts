/** The facade on a real PostgreSQL. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Pool } from "pg"
import type { Transaction } from "../src/api/common.ts"
import {
  aDatabase,
  aShop,
  all,
  failure,
  first,
  opened,
  openedWithoutDisk,
  phone,
} from "./Opened.ts"

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })("on PostgreSQL", (it) => {
  it.effect("a restart sends what fell due meanwhile, with the key that was kept", () =>
    Effect.gen(function* () {
      const { options } = yield* aDatabase
      const { id, sent } = yield* Effect.promise(async () => {
        const before = await opened({ ...options, worker: false })
        const { api } = await aShop(before)
        const accepted = await api.messages.send({ to: { phone }, text: "Hello" })
        await before.close()
        const after = await opened(options)
        const heard = first(1)
        after.on("message.sent", heard.handler, { after: 0 })
        const [event] = await heard.all
        return { id: accepted.id, sent: event?.message.id }
      })
      assert.strictEqual(sent, id)
    }),
  )

  it.effect("processes that start at once ensure one workspace with each number once", () =>
    Effect.gen(function* () {
      const { path, username, database, dataDirectory } = yield* aDatabase
      const address = { host: dirname(path), user: username, database, max: 4 }
      const secretsKey = "0123456789abcdef".repeat(4)
      // A host may set this: a transaction then reads its first snapshot to its end.
      const options = "-c default_transaction_isolation=repeatable\\ read"
      yield* Effect.promise(async () => {
        const pools = [1, 2].map(() => new Pool({ ...address, options }))
        const processesAtOnce = await Promise.all(
          pools.map((pool) =>
            opened({ store: { pool }, dataDirectory, secretsKey, worker: false }),
          ),
        )
        const shops = await Promise.all([...processesAtOnce, ...processesAtOnce].map(aShop))
        assert.lengthOf(new Set(shops.map(({ shop }) => shop.id)), 1)
        assert.lengthOf((await shops[0]?.api.numbers.list()) ?? [], 1)
        await Promise.all(processesAtOnce.map((messaging) => messaging.close()))
        await Promise.all(pools.map((pool) => pool.end()))
      })
    }),
  )

  it.effect("a message is there if and only if the program's own transaction commits", () =>
    Effect.gen(function* () {
      const { path, username, database, dataDirectory } = yield* aDatabase
      const pool = new Pool({ host: dirname(path), user: username, database, max: 4 })
      yield* Effect.promise(async () => {
        const messaging = await opened({
          store: { pool, schema: "texts" },
          dataDirectory,
          worker: false,
        })
        const { api } = await aShop(messaging)
        await pool.query("create table public.orders (id integer)")
        const client = await pool.connect()
        const order = async (id: number, end: "commit" | "rollback") => {
          await client.query("begin")
          await client.query("insert into public.orders values ($1)", [id])
          const sent = await api.messages.send(
            { to: { phone }, text: `Order ${id}` },
            { idempotencyKey: `order ${id}`, transaction: client },
          )
          await client.query(end)
          return sent.id
        }
        const gone = await order(1, "rollback")
        const there = await order(2, "commit")
        assert.strictEqual((await failure(api.messages.get(gone))).code, "message_not_found")
        // A refusal leaves the transaction usable.
        await client.query("begin")
        const refused = await failure(
          api.messages.send({ to: { phone }, text: "" }, { transaction: client }),
        )
        assert.strictEqual(refused.code, "text_required")
        const batch = await api.messages.sendBatch(
          { to: [{ phone }, { phone }], text: "Both" },
          { transaction: client },
        )
        await client.query("commit")
        client.release()
        const { sent } = await messaging.drain()
        assert.strictEqual(sent, 3)
        assert.deepStrictEqual(
          (await all(api.messages.list())).map(({ id }) => id),
          [...batch.messages.map(({ id }) => id).toReversed(), there],
        )
        await messaging.close()
        // The pool belongs to the program and is unchanged.
        const { rows } = await pool.query("select count(*)::integer as orders from public.orders")
        assert.deepStrictEqual(rows, [{ orders: 1 }])
        await pool.end()
      })
    }),
  )

  it.effect(
    "a process without a disk leaves messages with files, and files, to those that have one",
    () =>
      Effect.gen(function* () {
        const { dataDirectory, options } = yield* aDatabase
        const secretsKey = "0123456789abcdef".repeat(4)
        const { files, sent } = yield* Effect.promise(async () => {
          const withDisk = await opened({ ...options, secretsKey, worker: false })
          const { api, shop } = await aShop(withDisk)
          const [file, other] = await Promise.all(
            ["a.txt", "b.txt"].map((fileName) =>
              api.media.upload({ fileName, content: new TextEncoder().encode("Hello") }),
            ),
          )
          assert(file !== undefined && other !== undefined)
          const { id } = await api.messages.send({ to: { phone }, media: { mediaId: file.id } })
          const without = await openedWithoutDisk({
            store: options.store,
            secretsKey,
            worker: false,
          })
          await without.as(shop).media.remove(other.id)
          await without.drain({ atMostMillis: 1500 })
          assert.strictEqual((await api.messages.get(id)).status, "queued")
          await without.close()
          const files = await readdir(join(dataDirectory, "media", "files"))
          const after = await opened({ ...options, secretsKey })
          const heard = first(1)
          after.on("message.sent", heard.handler, { after: 0 })
          await heard.all
          return { files, sent: (await api.messages.get(id)).status }
        })
        assert.strictEqual(sent, "sent")
        // The removed one stays until a process that sees it removes it.
        assert.lengthOf(files, 2)
      }),
  )

  it.effect("a key is looked at before it is said that there is no disk for a file", () =>
    Effect.gen(function* () {
      const { options } = yield* aDatabase
      const secretsKey = "0123456789abcdef".repeat(4)
      yield* Effect.promise(async () => {
        const without = await openedWithoutDisk({
          store: options.store,
          secretsKey,
          worker: false,
        })
        const file = { fileName: "menu.txt", content: new TextEncoder().encode("Soup") }
        const { api } = await aShop(without)
        const codes = await Promise.all(
          [without.withKey("not a key"), without.as({ id: 999 }), api].map(
            async ({ media }) => (await failure(media.upload(file))).code,
          ),
        )
        assert.deepStrictEqual(codes, [
          "invalid_api_key",
          "workspace_not_found",
          "validation_failed",
        ])
        await without.close()
      })
    }),
  )

  it.effect("one client of the program's is enough for its transaction and the service", () =>
    Effect.gen(function* () {
      const { path, username, database, dataDirectory } = yield* aDatabase
      const pool = new Pool({ host: dirname(path), user: username, database, max: 1 })
      yield* Effect.promise(async () => {
        const messaging = await opened({ store: { pool }, dataDirectory, worker: false })
        const { api } = await aShop(messaging)
        const client = await pool.connect()
        await client.query("begin")
        const sent = await api.messages.send(
          { to: { phone }, text: "One" },
          { transaction: client },
        )
        await client.query("commit")
        client.release()
        assert.strictEqual((await messaging.drain()).sent, 1)
        assert.strictEqual((await api.messages.get(sent.id)).status, "sent")
        await messaging.close()
        await pool.end()
      })
    }),
  )

  it.effect("a transaction that cannot be joined is refused, and why", () =>
    Effect.gen(function* () {
      const { path, username, database, dataDirectory } = yield* aDatabase
      const pool = new Pool({ host: dirname(path), user: username, database })
      yield* Effect.promise(async () => {
        const messaging = await opened({ store: { pool }, dataDirectory, worker: false })
        const { api } = await aShop(messaging)
        const send = (transaction: Transaction) =>
          api.messages.send({ to: { phone }, text: "No" }, { transaction })
        const refused = async (transaction: Transaction, reason: RegExp) => {
          const { code, field, message } = await failure(send(transaction))
          assert.deepStrictEqual([code, field], ["validation_failed", "transaction"])
          assert.match(message, reason)
        }
        const client = await pool.connect()
        await refused(pool, /on a client and not on a pool/)
        await refused(client, /begin one first/)
        await client.query("begin")
        await client.query("select 1 / 0").catch(() => undefined)
        await refused(client, /has failed before/)
        await client.query("rollback")
        await client.query("begin isolation level repeatable read")
        await client.query("select 1")
        await api.messages.send({ to: { phone }, text: "Meanwhile" })
        // Some libraries wrap the server's error.
        await refused(
          {
            query: (text, values) =>
              client.query(text, values).catch((cause: unknown) => {
                throw new Error("failed", { cause })
              }),
          },
          /cannot be serialised/,
        )
        await client.query("rollback")
        client.release()
        assert.lengthOf(await all(api.messages.list()), 1)
        await messaging.close()
        await pool.end()
      })
    }),
  )

  it.effect("a transaction that may not write what a send writes is refused, and why", () =>
    Effect.gen(function* () {
      const { path, username, database, options } = yield* aDatabase
      const pool = new Pool({ host: dirname(path), user: username, database, max: 2 })
      yield* Effect.promise(async () => {
        const messaging = await opened({ ...options, worker: false })
        const { api, shop } = await aShop(messaging)
        const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
        const client = await pool.connect()
        const refused = async (transaction: Transaction, reason: RegExp) => {
          for (const caller of [api, messaging.withKey(key)]) {
            const sending = caller.messages.send({ to: { phone }, text: "No" }, { transaction })
            const { code, field, message } = await failure(sending)
            assert.deepStrictEqual([code, field], ["validation_failed", "transaction"])
            assert.match(message, reason)
          }
        }
        await client.query("begin read only")
        await refused(client, /is read-only/)
        await client.query("commit")
        await client.query("begin")
        await client.query("create role stranger")
        await client.query("set local role stranger")
        await refused(client, /lacks a grant/)
        await client.query("reset role")
        await client.query("grant usage on schema messaging to stranger")
        await client.query("set local role stranger")
        await refused(client, /lacks a grant/)
        await client.query("rollback")
        client.release()
        assert.lengthOf(await all(api.messages.list()), 0)
        await messaging.close()
        await pool.end()
      })
    }),
  )

  it.effect("two services share a database, each in a schema of its own", () =>
    Effect.gen(function* () {
      const { dataDirectory, options } = yield* aDatabase
      const counts = yield* Effect.promise(async () => {
        const [one, other] = await Promise.all(
          ["one", "other"].map((schema) =>
            opened({ store: { ...options.store, schema }, dataDirectory, worker: false }),
          ),
        )
        assert(one !== undefined && other !== undefined)
        await aShop(one)
        return [
          (await all(one.workspaces.list())).length,
          (await all(other.workspaces.list())).length,
        ]
      })
      assert.deepStrictEqual(counts, [1, 0])
    }),
  )

  it.effect("a start that cannot be made is said in one line, without the password", () =>
    Effect.gen(function* () {
      const dataDirectory = yield* processes.temporaryDirectory
      const postgres = "postgres://user:hush@127.0.0.1:1/none"
      const error = yield* Effect.promise(() =>
        failure(opened({ store: { postgres }, dataDirectory })),
      )
      assert.strictEqual(error.code, "cannot_start")
      assert.match(error.message, /^store\.postgres: [^\n]+$/)
      assert.notInclude(error.message, "hush")
    }),
  )
})
