/**
 * Writing inside a transaction of the caller's own. While an effect is joined to one, each of the
 * store's statements runs on the caller's client, alone: nothing is shared with other callers, nothing
 * is tried again, and processes are woken by the caller's commit.
 *
 * A savepoint precedes what is joined, so a failed statement undoes no more than that. A refusal undoes the
 * same: it leaves no lock behind, so the number of a refused message continues.
 */
import { CannotJoin, StoreUnavailable } from "@messaging-service/core"
import type { CallersTransactions, TransactionClient } from "@messaging-service/core"
import { Context, Effect, Exit, Semaphore } from "effect"
import { toSqlError, unavailable } from "./HostPool.ts"
import { qualifier, workChannel } from "./Schema.ts"
import { asText } from "./TextValues.ts"

/** A statement that a caller's transaction can hold says of what types its columns are. */
export type Answer = Readonly<Record<string, string>>

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

/** The row that holds a store's identity. */
export const identityKey = "store-identity"

/**
 * A store's identity, as the statement `service.identity` reads it: the mark that it was given once, and
 * the ids of its table and its database. A copy has the same mark, and a restored dump may share one id.
 */
const identity = `value || ' in ' || tableoid || ' of ' || (
    select d.oid
    from pg_catalog.pg_database d
    where d.datname = current_database()
  )`

/** The store that a caller's transaction must be on. */
interface OwnStore {
  readonly schema: string
  readonly identity: string
  /** The identity of the store that a statement meets. */
  readonly met: string
}

export class Joined {
  readonly #client: TransactionClient
  readonly #store: OwnStore
  /** Whether a statement has met the service's own store. */
  #isOwn = false
  /** What went wrong: what was done since the savepoint is to be undone. */
  failure: StoreUnavailable | CannotJoin | null = null

  constructor(client: TransactionClient, store: OwnStore) {
    this.#client = client
    this.#store = store
  }

  readonly request = (operation: string, text: string, values: Array<string | null> = []) =>
    Effect.tryPromise({
      try: () => this.#client.query(text, values),
      catch: (cause) => {
        const failure = unavailable(operation, toSqlError(cause))
        this.failure ??= blamed(failure, this.#isOwn)
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
    if (columns.length === 0) return Effect.as(this.request(operation, text, values), [])
    const met = this.#isOwn ? "" : `, ${this.#store.met} as met`
    const query = `with answer as materialized (${text})
select coalesce(json_agg(answer), '[]')::text as answer, ${boundIdle} as idle${met} from answer`
    return Effect.flatMap(this.request(operation, query, values), ({ rows }) => {
      const [row] = rows as ReadonlyArray<{ readonly answer: string; readonly met?: string }>
      this.#isOwn ||= row?.met === this.#store.identity
      if (!this.#isOwn) {
        this.failure ??= elsewhere
        return Effect.fail(new StoreUnavailable({ operation, cause: elsewhere }))
      }
      const found = JSON.parse(row?.answer ?? "[]") as ReadonlyArray<Record<string, unknown>>
      return Effect.succeed(
        found.map(
          (one) =>
            Object.fromEntries(
              columns.map(([name, type]) => [name, revived(type, one[name])]),
            ) as Row,
        ),
      )
    })
  }

  /** Says so to all processes on the schema once the transaction is committed. */
  notify(payload: string): Effect.Effect<void, StoreUnavailable> {
    return Effect.asVoid(
      // Some clients cannot read a column of the type void.
      this.request("notify", "select pg_notify($1::text, $2::text)::text as told", [
        workChannel(this.#store.schema),
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
  switch (type.replace("?", "")) {
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
const semaphores = new WeakMap<TransactionClient, Semaphore.Semaphore>()

const clientLock = (client: TransactionClient): Semaphore.Semaphore => {
  const known = semaphores.get(client)
  if (known !== undefined) return known
  const semaphore = Semaphore.makeUnsafe(1)
  semaphores.set(client, semaphore)
  // When the server has ended an idle transaction, its client of pg says so with an event, which would end a
  // program that does not listen; the client's next statement fails in any case.
  const { on } = client as { readonly on?: unknown }
  if (typeof on === "function") on.call(client, "error", () => undefined)
  return semaphore
}

const savepoint = "messaging_service"

/** What a caller can do about an error of the transaction that was handed over, by its code. */
const advice: Readonly<Record<string, string>> = {
  "25P01":
    "The client that was handed over has no transaction open: begin one first, on a client and not on a pool.",
  "25P02": "The transaction that was handed over has failed before: roll it back, and begin anew.",
  "40001":
    "The transaction that was handed over cannot be serialised with others: roll it back, and begin anew.",
  "25006": "The transaction that was handed over is read-only: begin one that can write.",
  "42501":
    "The role of the transaction that was handed over lacks a grant: it needs those of the role that the service runs as.",
}

const elsewhere = new CannotJoin({
  message:
    "The transaction that was handed over does not see what this service keeps: it must be on the database that the service was opened with.",
})

/** What a transaction that sees another database, or another version there, fails with: no such table, schema, function, column. */
const missingObjectCodes: ReadonlyArray<string> = ["42P01", "3F000", "42883", "42703"]

/**
 * The code of the server's error, which some libraries wrap in errors of their own; Prisma keeps it as
 * `originalCode`, below `meta`.
 */
const findCode = (error: unknown): string | undefined => {
  const { cause, code, driverAdapterError, meta, originalCode, reason } = (error ?? {}) as Readonly<
    Record<string, unknown>
  >
  const known = [code, originalCode].find(
    (one) => typeof one === "string" && (one in advice || missingObjectCodes.includes(one)),
  )
  if (known !== undefined) return String(known)
  const within = reason ?? cause ?? driverAdapterError ?? meta
  return within === undefined ? undefined : findCode(within)
}

/** Blames the caller's transaction where it caused the failure. */
const blamed = (failure: StoreUnavailable, isOwn: boolean): StoreUnavailable | CannotJoin => {
  const code = findCode(failure.cause) ?? ""
  if (missingObjectCodes.includes(code)) return isOwn ? failure : elsewhere
  const message = advice[code]
  return message === undefined ? failure : new CannotJoin({ message })
}

/** Joins an effect to the transaction of that client. */
const joinTransaction =
  (store: OwnStore) =>
  <A, E, R>(
    client: TransactionClient,
    effect: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | StoreUnavailable | CannotJoin, R> =>
    Effect.suspend(() => {
      const joined = new Joined(client, store)
      const execute = (text: string) => joined.request("join", text)
      const undo = Effect.ignore(
        Effect.andThen(
          execute(`rollback to savepoint ${savepoint}`),
          execute(`release savepoint ${savepoint}`),
        ),
      )
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          yield* Effect.mapError(
            execute(`savepoint ${savepoint}`),
            (error) => joined.failure ?? error,
          )
          const exit = yield* Effect.exit(
            restore(Effect.provideService(effect, JoinedTransaction, joined)),
          )
          if (joined.failure === null && Exit.isSuccess(exit)) {
            yield* execute(`release savepoint ${savepoint}`)
            return yield* exit
          }
          const { failure } = joined
          yield* undo
          return yield* failure !== null && (Exit.isSuccess(exit) || failure._tag === "CannotJoin")
            ? failure
            : exit
        }),
      ).pipe(clientLock(client).withPermits(1))
    })

/** Those of a store on which there are such transactions. */
export const callersTransactions = (schema: string, own: string): CallersTransactions => {
  const met = `(select ${identity} from service_secrets where name = '${identityKey}')`
  return {
    joinTransaction: joinTransaction({ schema, identity: own, met: qualifier(schema)(met) }),
  }
}
