import { open } from "@messaging-service/service"
import type { MessagingError } from "@messaging-service/service"
import { Pool } from "pg"

const pool = new Pool({ connectionString: process.env["DATABASE_URL"] })
const messaging = await open({
  store: { pool },
  dataDirectory: process.env["DATA_DIR"] ?? "./data",
})
const practice = messaging.as(
  await messaging.workspaces.ensure("practice", { numbers: [{ phone: "+15550100001" }] }),
)
await pool.query(
  "create table if not exists public.appointments (id integer primary key, at timestamptz, message_id integer)",
)

const reminderOf = (at: Date) => ({
  to: { phone: "+15550100002" },
  text: `See you on ${at.toISOString().slice(0, 10)}.`,
  sendAt: new Date(at.getTime() - 24 * 3_600_000),
})

/** Whether it moved; not when the reminder of the old time has left, or is leaving. */
const move = async (id: number, at: Date): Promise<boolean> => {
  const client = await pool.connect()
  try {
    await client.query("begin")
    const { rows } = await client.query(
      "select message_id from public.appointments where id = $1 for update",
      [id],
    )
    await practice.messages.cancel(rows[0].message_id, { transaction: client })
    const { id: messageId } = await practice.messages.send(reminderOf(at), { transaction: client })
    await client.query("update public.appointments set at = $2, message_id = $3 where id = $1", [
      id,
      at,
      messageId,
    ])
    await client.query("commit")
    return true
  } catch (error) {
    await client.query("rollback").catch(() => undefined)
    if ((error as MessagingError).code === "not_cancellable") return false
    throw error
  } finally {
    client.release()
  }
}

const inDays = (days: number) => new Date(Date.now() + days * 24 * 3_600_000)
const first = await practice.messages.send(reminderOf(inDays(3)))
await pool.query("insert into public.appointments values (1, $1, $2)", [inDays(3), first.id])
console.log("moved:", await move(1, inDays(5)))
console.log("the old reminder is", (await practice.messages.get(first.id)).status)
await messaging.close()
await pool.end()
