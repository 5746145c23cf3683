/** Code that sends inside transactions of Drizzle and Kysely, tested without a database. */
import { joinable } from "@messaging-service/service/drizzle"
import { openTest } from "@messaging-service/service/testing"
import { drizzle } from "drizzle-orm/node-postgres"
import { integer, pgTable } from "drizzle-orm/pg-core"
import { Kysely, PostgresDialect } from "kysely"
import type { Pool, PoolClient } from "pg"
import { assert, test } from "vitest"
import { place } from "../src/transactions/kysely.ts"
import type { Tables } from "../src/transactions/kysely.ts"

const orders = pgTable("orders", { id: integer("id").primaryKey(), table: integer("table") })

test("a rolled back inner transaction takes its send along, and rows are read as Drizzle reads them", async () => {
  const t = await openTest()
  const client = t.client((text) => (text.startsWith("select") ? [{ id: 1, table: 4 }] : []))
  const db = drizzle(client as unknown as PoolClient)
  const send = (text: string, tx: Parameters<typeof joinable>[0]) =>
    t.api.messages.send(
      { to: { phone: "+15550100002" }, text },
      { idempotencyKey: text, transaction: joinable(tx) },
    )
  await db.transaction(async (tx) => {
    assert.deepStrictEqual(await tx.select().from(orders), [{ id: 1, table: 4 }])
    await send("Outer", tx)
    const inner = tx.transaction(async (nested) => {
      await send("Inner", nested)
      throw new Error("changed my mind")
    })
    await inner.catch(() => undefined)
    await tx.transaction((nested) => send("Last", nested))
  })
  assert.deepStrictEqual(
    t.sent.map(({ text }) => text),
    ["Outer", "Last"],
  )
  // Its key is free again.
  const again = await t.api.messages.send(
    { to: { phone: "+15550100002" }, text: "Inner" },
    { idempotencyKey: "Inner" },
  )
  assert.isFalse(again.replayed)
  await t.close()
})

test("a pool of test clients serves Kysely, which hears how many rows changed", async () => {
  const t = await openTest()
  const client = t.client((text) => (text.startsWith("update") ? 2 : []))
  const pool = { connect: async () => client, end: async () => undefined }
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: pool as unknown as Pool }),
  })
  await place(db, t.api, 7)
  const [changed] = await db.updateTable("orders").set({ id: 1 }).execute()
  assert.strictEqual(changed?.numUpdatedRows, 2n)
  assert.deepStrictEqual(
    t.sent.map(({ text }) => text),
    ["Order 7 is placed."],
  )
  await t.close()
})
