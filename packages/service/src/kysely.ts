/** Sends that join a transaction of Kysely. */
import { CompiledQuery } from "kysely"
import type { Transaction } from "./api/common.ts"

/** The used part of a transaction of Kysely, whatever its tables. */
export interface KyselyTransaction {
  /** Runs a statement. `never`: every version's own kind of statement will do. */
  readonly executeQuery: (query: never) => Promise<{
    /** The result. */
    readonly rows: ReadonlyArray<unknown>
  }>
  /** False for the database itself. */
  readonly isTransaction: true
}

/**
 * What sends join, from the transaction that `db.transaction().execute` hands over. Make it once for each
 * transaction: concurrent sends take turns on it. Fails with nothing of its own.
 *
 * @example
 * await db.transaction().execute(async (tx) => {
 *   const transaction = joinable(tx)
 *   await api.messages.send({ to: { phone }, text: "Your order is placed." }, { transaction })
 * })
 */
export const joinable = (tx: KyselyTransaction): Transaction => {
  const executeQuery = tx.executeQuery.bind(tx) as (
    query: CompiledQuery,
  ) => ReturnType<KyselyTransaction["executeQuery"]>
  return { query: (text, values) => executeQuery(CompiledQuery.raw(text, values)) }
}
