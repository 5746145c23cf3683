import { open } from "@messaging-service/service"
import { Pool } from "pg"

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] })
const messaging = await open({
  store: { pool, schema: "messaging" },
  dataDirectory: process.env["DATA_DIR"] ?? "./data",
})
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
await pool.query("create table if not exists public.orders (id integer primary key)")

/** The order and its message are both there, or neither is. */
const place = async (id: number, end: "commit" | "rollback") => {
  const client = await pool.connect()
  await client.query("begin")
  await client.query("insert into public.orders values ($1)", [id])
  await messaging
    .as(shop)
    .messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction: client },
    )
  await client.query(end)
  client.release()
}
await place(1, "rollback")
await place(2, "commit")

await messaging.drain()
for await (const { text, status } of messaging.as(shop).messages.list()) console.log(text, status)
await messaging.close()
await pool.end()
