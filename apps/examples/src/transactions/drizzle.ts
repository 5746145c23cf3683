/** An order and its message in one transaction of Drizzle: both exist, or neither does. */
import type { Api, Transaction } from "@messaging-service/service"
import { sql } from "drizzle-orm"
import type { NodePgDatabase } from "drizzle-orm/node-postgres"
import { integer, pgTable } from "drizzle-orm/pg-core"

const orders = pgTable("orders", { id: integer("id").primaryKey() })

type DrizzleTransaction = Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0]

/** What sends join. One for each transaction: concurrent sends take turns on it. */
export const joinable = (tx: DrizzleTransaction): Transaction => ({
  query: (text, values) => {
    // Every second part is the number of a value.
    const parts = text.split(/\$(\d+)/).map((part, at) => {
      return at % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1])
    })
    return tx.execute(sql.join(parts))
  },
})

export const place = (db: NodePgDatabase, api: Api, id: number) =>
  db.transaction(async (tx) => {
    const transaction = joinable(tx)
    await tx.insert(orders).values({ id })
    await api.messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction },
    )
  })
