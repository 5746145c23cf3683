/** Sends that join a transaction of Drizzle. */
import { sql } from "drizzle-orm"
import type { SQL } from "drizzle-orm"
import type { Transaction } from "./api/common.ts"

/** What the drivers of Drizzle answer: that of `pg` an object, that of postgres.js the rows themselves. */
type Answer = { readonly rows: ReadonlyArray<unknown> } | ReadonlyArray<unknown>

/**
 * The used part of a transaction of Drizzle on PostgreSQL, whatever its schema. The database itself has no
 * `rollback`, or it would be taken for one.
 */
export interface DrizzleTransaction {
  /** Runs a statement. `never`: every version's own kind of statement will do. */
  readonly execute: (query: never) => PromiseLike<Answer>
  /** Ends the transaction. */
  readonly rollback: () => never
}

/**
 * What sends join, from the transaction that `db.transaction` hands over. Make it once for each
 * transaction: concurrent sends take turns on it. Fails with nothing of its own.
 *
 * @example
 * await db.transaction(async (tx) => {
 *   const transaction = joinable(tx)
 *   await api.messages.send({ to: { phone }, text: "Your order is placed." }, { transaction })
 * })
 */
export const joinable = (tx: DrizzleTransaction): Transaction => {
  const execute = tx.execute.bind(tx) as (query: SQL) => PromiseLike<Answer>
  return {
    query: async (text, values) => {
      // Drizzle takes statements in parts. Every second one here is the number of a value.
      const parts = text
        .split(/\$(\d+)/)
        .map((part, at) => (at % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1])))
      const answer = await execute(sql.join(parts))
      return { rows: "rows" in answer ? answer.rows : answer }
    },
  }
}
