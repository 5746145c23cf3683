/** An order and its message in one transaction of postgres.js: both exist, or neither does. */
import type { Api, Transaction } from "@messaging-service/service"
import type { Sql, TransactionSql } from "postgres"

/** What sends join. One for each transaction: concurrent sends take turns on it. */
export const joinable = (sql: TransactionSql): Transaction => ({
  query: async (text, values) => ({ rows: await sql.unsafe(text, values) }),
})

export const place = (sql: Sql, api: Api, id: number) =>
  sql.begin(async (tx) => {
    const transaction = joinable(tx)
    await tx`insert into public.orders values (${id})`
    await api.messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction },
    )
  })
