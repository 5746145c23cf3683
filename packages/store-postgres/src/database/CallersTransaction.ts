/**
 * Writing inside a transaction of the caller's own. While an effect is joined to one, each of the
 * store's statements runs on the caller's client, alone: nothing is shared with other callers, nothing
 * is tried again, and processes are woken by the caller's commit.
 *
 * A savepoint stands before what is joined, so that a statement that fails undoes no more than that.
 * A refusal is no failure of a statement: it leaves what it leaves anywhere else, which is nothing.
 */
import { CallersTransactions, CannotJoin, StoreUnavailable } from "@messaging-service/core/ports"
import type { TransactionClient } from "@messaging-service/core/ports"
import { Cause, Context, Effect, Exit, Semaphore } from "effect"
import type { Values } from "./Fields.ts"
import { sqlErrorOf, unavailable } from "./HostPool.ts"
import { workChannel } from "./Schema.ts"
import { asText } from "./TextValues.ts"

/** A statement that a caller's transaction can hold says what its columns are. */
export type Answer = Values<never>

/** How long a transaction that holds locks of the service's may be left idle. */
const idleMillis = 5_000

/** Ends an idle transaction by then, unless the caller's own setting ends it sooner. It ends with the transaction. */
const boundIdle = `set_config(
  'idle_in_transaction_session_timeout',
  case
    when current_setting('idle_in_transaction_session_timeout')::interval
      between interval '1 ms' and interval '${idleMillis} ms'
    then current_setting('idle_in_transaction_session_timeout')
    else '${idleMillis}'
  end,
  true
)`

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
        const failure = unavailable(operation, sqlErrorOf(cause))
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
select coalesce(json_agg(answer), '[]')::text as answer, ${boundIdle} as idle from answer`
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
      // Some clients cannot read a column of the type void.
      this.ask("notify", "select pg_notify($1::text, $2::text)::text as told", [
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
  // A client of pg whose idle transaction the server has ended says so with an event, which would end a
  // program that does not listen; its next statement fails in any case.
  const { on } = client as { readonly on?: unknown }
  if (typeof on === "function") on.call(client, "error", () => undefined)
  return turn
}

const savepoint = "messaging_service"

/** What a caller can do about an error of the transaction that was handed over, by its code. */
const advice: Readonly<Record<string, string>> = {
  "25P01":
    "The client that was handed over has no transaction open: begin one first, on a client and not on a pool.",
  "25P02": "The transaction that was handed over has failed before: roll it back, and begin anew.",
  "40001":
    "The transaction that was handed over cannot be serialised with others: roll it back, and begin anew.",
}

/**
 * The code of the server's error, which some libraries wrap in errors of their own; Prisma keeps it as
 * `originalCode`, below `meta`.
 */
const codeOf = (error: unknown): string | undefined => {
  const { cause, code, driverAdapterError, meta, originalCode, reason } = (error ?? {}) as Readonly<
    Record<string, unknown>
  >
  const known = [code, originalCode].find((one) => typeof one === "string" && one in advice)
  if (known !== undefined) return String(known)
  const within = reason ?? cause ?? driverAdapterError ?? meta
  return within === undefined ? undefined : codeOf(within)
}

/** A failure that the caller's transaction is the reason of is told as such. */
const blamed = (failure: StoreUnavailable): StoreUnavailable | CannotJoin => {
  const code = codeOf(failure.cause)
  const message = code === undefined ? undefined : advice[code]
  return message === undefined ? failure : new CannotJoin({ message })
}

/** Joins an effect to the transaction of that client. */
const joinTransaction =
  (schema: string) =>
  <A, E, R>(
    client: TransactionClient,
    effect: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | StoreUnavailable | CannotJoin, R> =>
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
          yield* Effect.mapError(say(`savepoint ${savepoint}`), blamed)
          const exit = yield* Effect.exit(
            restore(Effect.provideService(effect, JoinedTransaction, joined)),
          )
          if (joined.failure === null && (Exit.isSuccess(exit) || onlyFails(exit.cause))) {
            yield* say(`release savepoint ${savepoint}`)
            return yield* exit
          }
          const failure = joined.failure === null ? null : blamed(joined.failure)
          yield* undo
          return yield* failure !== null && (Exit.isSuccess(exit) || failure._tag === "CannotJoin")
            ? failure
            : exit
        }),
      ).pipe(turnOf(client).withPermits(1))
    })

const onlyFails = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.every((reason) => Cause.isFailReason(reason))

export const callersTransactions = ({
  joinable,
  schema,
}: {
  readonly joinable: boolean
  readonly schema: string
}): typeof CallersTransactions.Service =>
  joinable ? { join: joinTransaction(schema) } : CallersTransactions.none
