import { open } from "@messaging-service/service"
import { Pool } from "pg"

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] })
const messaging = await open({
  store: { pool },
  dataDirectory: process.env["DATA_DIR"] ?? "./data",
})
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
await pool.query(
  "create table if not exists public.bookings (request text primary key, message_id integer)",
)

/** A browser that got no answer asks again with the same `Idempotency-Key`: today, or in a month. */
const book = async (request: Request): Promise<Response> => {
  const key = request.headers.get("idempotency-key")
  if (key === null) return Response.json({ error: "no Idempotency-Key" }, { status: 400 })
  const client = await pool.connect()
  try {
    await client.query("begin")
    // A second request with the key waits here for the end of the first.
    const { rowCount } = await client.query(
      "insert into public.bookings values ($1) on conflict do nothing",
      [key],
    )
    if (rowCount === 1) {
      const { id } = await messaging
        .as(shop)
        .messages.send(
          { to: { phone: "+15550100002" }, text: "Your table is booked." },
          { idempotencyKey: `booked ${key}`, transaction: client },
        )
      await client.query("update public.bookings set message_id = $2 where request = $1", [key, id])
    }
    const { rows } = await client.query(
      "select message_id from public.bookings where request = $1",
      [key],
    )
    await client.query("commit")
    return Response.json({ message: rows[0].message_id, repeated: rowCount === 0 })
  } catch (error) {
    await client.query("rollback").catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}

const request = () =>
  new Request("http://shop.example", { method: "POST", headers: { "idempotency-key": "a1" } })
for (const answer of [await book(request()), await book(request())]) {
  console.log(await answer.text())
}
await messaging.drain()
const { items } = await messaging.as(shop).messages.list().page()
console.log("sent:", items.length)
await messaging.close()
await pool.end()
