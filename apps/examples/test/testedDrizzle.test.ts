/** A recipe of `docs/testing.md`: a program's own transactions of Drizzle, in a test. */
import { openTest } from "@messaging-service/service/testing"
import { drizzle } from "drizzle-orm/node-postgres"
import type { PoolClient } from "pg"
import { assert, test } from "vitest"
import { place, schema } from "../src/transactions/drizzle.ts"

test("code of yours that sends inside a transaction of Drizzle", async () => {
  const t = await openTest()
  const written: Array<unknown> = []
  const client = t.client((text, values) => {
    if (text.startsWith("insert")) written.push(...values)
    return []
  })
  // Its types want a whole client; it uses `query` alone.
  await place(drizzle(client as unknown as PoolClient, { schema }), t.api, 7)
  assert.deepStrictEqual(written, [7])
  assert.deepStrictEqual(
    t.sent.map(({ text }) => text),
    ["Order 7 is placed."],
  )
  await t.close()
})
