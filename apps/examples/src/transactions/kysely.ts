/** An order and its message in one transaction of Kysely: both exist, or neither does. */
import type { Api } from "@messaging-service/service"
import { joinable } from "@messaging-service/service/kysely"
import type { Kysely } from "kysely"

export interface Tables {
  readonly orders: { readonly id: number }
}

export const place = (db: Kysely<Tables>, api: Api, id: number) =>
  db.transaction().execute(async (tx) => {
    const transaction = joinable(tx)
    await tx.insertInto("orders").values({ id }).execute()
    await api.messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction },
    )
  })
