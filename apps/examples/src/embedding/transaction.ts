import { open } from "@messaging-service/service"
import type { MessagingError } from "@messaging-service/service"
import { Pool } from "pg"

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] })
const messaging = await open({
  store: { pool, schema: "messaging" },
  dataDirectory: process.env["DATA_DIR"] ?? "./data",
})
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const [number] = await messaging.operator(shop).numbers.list()
await pool.query("create table if not exists public.orders (id integer primary key)")

/** The order and its message are both there, or neither is; whatever happens, the pool has its client back. */
const place = async (id: number, phone: string) => {
  const client = await pool.connect()
  try {
    await client.query("begin")
    await client.query("insert into public.orders values ($1)", [id])
    await messaging
      .as(shop)
      .messages.send(
        { from: number?.id, to: { phone }, text: `Order ${id} is placed.` },
        { idempotencyKey: `order ${id}`, transaction: client },
      )
    await client.query("commit")
  } catch (error) {
    // On a connection that broke it fails, and nothing was done there.
    await client.query("rollback").catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}
await place(1, "12").catch((error: MessagingError) => {
  console.log("Order 1 is refused:", error.code)
})
await place(2, "+15550100002")
const { rows } = await pool.query("select id from public.orders")
console.log("Orders:", ...rows.map(({ id }) => id))

await messaging.drain()
for await (const { text, status } of messaging.as(shop).messages.list()) console.log(text, status)
await messaging.close()
await pool.end() // ends once every client is back
