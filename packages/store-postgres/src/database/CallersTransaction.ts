/**
 * Writing inside a transaction of the caller's own. While an effect is joined to one, each of the
 * store's statements runs on the caller's client, alone: nothing is shared with other callers, nothing
 * is tried again, and processes are woken by the caller's commit.
 *
 * A savepoint stands before what is joined, so that a statement that fails undoes no more than that.
 * A refusal is no failure of a statement: it leaves what it leaves anywhere else, which is nothing.
 */
import { CallersTransactions, StoreUnavailable } from "@messaging-service/core/ports"
import type { TransactionClient } from "@messaging-service/core/ports"
import { Cause, Context, Effect, Exit, Semaphore } from "effect"
import type { DatabaseService } from "./Database.ts"
import type { Values } from "./Fields.ts"
import { sqlErrorOf } from "./HostPool.ts"
import { workChannel } from "./Schema.ts"
import { asText } from "./TextValues.ts"

/** A statement that a caller's transaction can hold says what its columns are. */
export type Answer = Values<never>

export class Joined {
  readonly #client: TransactionClient
  readonly #schema: string
  /** A statement that failed: what was done since the savepoint is to be undone. */
  failure: StoreUnavailable | null = null

  constructor(client: TransactionClient, schema: string) {
    this.#client = client
    this.#schema = schema
  }

  readonly ask = (operation: string, text: string, values: Array<string | null> = []) =>
    Effect.tryPromise({
      try: () => this.#client.query(text, values),
      catch: (cause) => {
        const failure = new StoreUnavailable({ operation, cause: sqlErrorOf(cause) })
        this.failure ??= failure
        return failure
      },
    })

  /** Runs a statement that says its columns. The rows come as one text, which no client changes. */
  rows<Row>(
    operation: string,
    statement: string,
    parameters: ReadonlyArray<unknown>,
    answer: Answer | undefined,
  ): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable> {
    if (answer === undefined) return Effect.fail(cannotJoin(operation))
    const { text, values } = asText(statement, parameters)
    const columns = Object.entries(answer)
    if (columns.length === 0) return Effect.as(this.ask(operation, text, values), [])
    const asked = `with answer as materialized (${text})
select coalesce(json_agg(answer), '[]')::text as answer from answer`
    return Effect.map(this.ask(operation, asked, values), ({ rows }) => {
      const [row] = rows as ReadonlyArray<{ readonly answer: string }>
      const found = JSON.parse(row?.answer ?? "[]") as ReadonlyArray<Record<string, unknown>>
      return found.map(
        (one) =>
          Object.fromEntries(
            columns.map(([name, { kind }]) => [name, revived(kind.type, one[name])]),
          ) as Row,
      )
    })
  }

  /** Says so to all processes on the schema once the transaction is committed. */
  notify(payload: string): Effect.Effect<void, StoreUnavailable> {
    return Effect.asVoid(
      this.ask("notify", "select pg_notify($1::text, $2::text)", [
        workChannel(this.#schema),
        payload,
      ]),
    )
  }
}

/** The caller's transaction that statements belong to now. */
export const JoinedTransaction = Context.Reference<Joined | null>(
  "store-postgres/JoinedTransaction",
  { defaultValue: () => null },
)

export const cannotJoin = (operation: string): StoreUnavailable =>
  new StoreUnavailable({
    operation,
    cause: new Error(`${operation} cannot be part of a caller's transaction`),
  })

/** A value out of JSON, as rows of our own connections hold it. */
const revived = (type: string, value: unknown): unknown => {
  if (value == null) return null
  switch (type) {
    case "bigint":
      return BigInt(value as number)
    case "bigint[]":
      return (value as ReadonlyArray<number | null>).map((one) =>
        one === null ? null : BigInt(one),
      )
    case "timestamptz":
      return new Date(value as string)
    default:
      return value
  }
}

/** What a client is asked for in turn: savepoints of two calls at once would undo one another. */
const turns = new WeakMap<TransactionClient, Semaphore.Semaphore>()

const turnOf = (client: TransactionClient): Semaphore.Semaphore => {
  const known = turns.get(client)
  if (known !== undefined) return known
  const turn = Semaphore.makeUnsafe(1)
  turns.set(client, turn)
  return turn
}

const savepoint = "messaging_service"

const outsideTransaction = "25P01"

const noTransaction = (error: StoreUnavailable): StoreUnavailable => {
  const reason = (error.cause as { readonly reason?: { readonly cause?: unknown } }).reason
  const code = (reason?.cause as { readonly code?: unknown } | undefined)?.code
  return code === outsideTransaction
    ? new StoreUnavailable({
        operation: error.operation,
        cause: new Error(
          "the client that was handed over has no transaction open: begin one first",
        ),
      })
    : error
}

/** Joins an effect to the transaction of that client. */
const joinTransaction =
  (schema: string) =>
  <A, E, R>(
    client: TransactionClient,
    effect: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | StoreUnavailable, R> =>
    Effect.suspend(() => {
      const joined = new Joined(client, schema)
      const say = (text: string) => joined.ask("join", text)
      const undo = Effect.ignore(
        Effect.andThen(
          say(`rollback to savepoint ${savepoint}`),
          say(`release savepoint ${savepoint}`),
        ),
      )
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          yield* Effect.mapError(say(`savepoint ${savepoint}`), noTransaction)
          const exit = yield* Effect.exit(
            restore(Effect.provideService(effect, JoinedTransaction, joined)),
          )
          if (joined.failure === null && (Exit.isSuccess(exit) || onlyFails(exit.cause))) {
            yield* say(`release savepoint ${savepoint}`)
            return yield* exit
          }
          const { failure } = joined
          yield* undo
          return yield* Exit.isSuccess(exit) && failure !== null ? failure : exit
        }),
      ).pipe(turnOf(client).withPermits(1))
    })

const onlyFails = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.every((reason) => Cause.isFailReason(reason))

export const callersTransactions = ({
  joinable,
  schema,
}: DatabaseService): typeof CallersTransactions.Service =>
  joinable ? { join: joinTransaction(schema) } : CallersTransactions.none
