/** An order and its message in one transaction of Drizzle: both exist, or neither does. */
import type { Api } from "@messaging-service/service"
import { joinable } from "@messaging-service/service/drizzle"
import type { NodePgDatabase } from "drizzle-orm/node-postgres"
import { integer, pgTable } from "drizzle-orm/pg-core"

const orders = pgTable("orders", { id: integer("id").primaryKey() })

export const schema = { orders }

export const place = (db: NodePgDatabase<typeof schema>, api: Api, id: number) =>
  db.transaction(async (tx) => {
    const transaction = joinable(tx)
    await tx.insert(orders).values({ id })
    await api.messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction },
    )
  })
