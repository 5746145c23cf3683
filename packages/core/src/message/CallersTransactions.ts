/**
 * Sending inside a transaction of the caller's own: the message is there if, and only if, what the
 * caller writes beside it is.
 */
import { Context, Data, Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"

/**
 * A transaction that the caller has opened and will commit or roll back, on the database that the
 * service uses. A client of `pg` is one; for others one function does, which runs a statement with
 * values for `$1`, `$2` …: `{ query: async (text, values) => ({ rows: await sql.unsafe(text, values) }) }`.
 */
export interface TransactionClient {
  query(
    text: string,
    values: Array<string | null>,
  ): Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

/** The transaction that was handed over cannot be joined; the message says why. */
export class CannotJoin extends Data.TaggedError("CannotJoin")<{ readonly message: string }> {}

export class CallersTransactions extends Context.Service<
  CallersTransactions,
  {
    /**
     * Joins `Messages.send` or `Messages.sendBatch` to the transaction; nothing else can be. It is
     * sent once the caller has committed. A refusal leaves the transaction usable. Until it ends, the
     * number that sends and a workspace whose plan counts messages are locked: others who send from them
     * wait, and so does what became of their messages; other numbers go on. A transaction that is left
     * idle for 5 seconds is ended by the server. One transaction takes one send at a time; further ones
     * wait.
     *
     * Fails with `CannotJoin` when the transaction is none that can be joined, and with `StoreUnavailable`
     * when a statement fails, having undone what was joined alone. A store that has no such transactions
     * dies with an error that says so.
     */
    join<A, E, R>(
      client: TransactionClient,
      effect: Effect.Effect<A, E, R>,
    ): Effect.Effect<A, E | StoreUnavailable | CannotJoin, R>
  }
>()("core/CallersTransactions") {
  /** For a store that only this process can write to. */
  static readonly none = CallersTransactions.of({
    join: () =>
      Effect.die(new Error("only a store on PostgreSQL can send inside a caller's transaction")),
  })
}
