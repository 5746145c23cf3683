/** An order and its message in one transaction of Kysely: both exist, or neither does. */
import type { Api, Transaction } from "@messaging-service/service"
import { CompiledQuery } from "kysely"
import type { Kysely, Transaction as KyselyTransaction } from "kysely"

export interface Tables {
  readonly orders: { readonly id: number }
}

/** What sends join. One for each transaction: concurrent sends take turns on it. */
export const joinable = (tx: KyselyTransaction<Tables>): Transaction => ({
  query: (text, values) => tx.executeQuery(CompiledQuery.raw(text, values)),
})

export const place = (db: Kysely<Tables>, api: Api, id: number) =>
  db.transaction().execute(async (tx) => {
    const transaction = joinable(tx)
    await tx.insertInto("orders").values({ id }).execute()
    await api.messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction },
    )
  })
