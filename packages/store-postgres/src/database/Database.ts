/**
 * The one way to PostgreSQL: a pool of connections on which statements and transactions run, in
 * bounded time and with one kind of failure. A statement that fails because of a conflict
 * (deadlock, serialisation) is repeated; everything else is `StoreUnavailable`.
 *
 * Time-outs run on real time, whatever clock governs the service: they are about the network.
 */
import { StoreUnavailable, makePlaces, sharedResources } from "@messaging-service/core/ports"
import { PgPool } from "@effect/sql-pg"
import type { PgConnection } from "@effect/sql-pg"
import { Clock, Context, Data, Effect, Exit, Layer, Schedule } from "effect"
import type * as SqlError from "effect/sql/SqlError"

/** Where PostgreSQL is: a `postgres://` URL, or its parts; `path` is a Unix socket. */
export type ConnectionOptions = Pick<
  PgConnection.Config,
  "url" | "host" | "port" | "path" | "database" | "username" | "password" | "ssl"
>

interface Limits {
  /** Connections of the pool; 10 by default. */
  readonly maxConnections: number
  /** How long to wait for a connection of the pool; 5 s by default. */
  readonly acquireMillis: number
  /** How long one statement may take; 30 s by default. */
  readonly statementMillis: number
  /** How long a list may take, waiting for its turn included; 5 s by default. */
  readonly listMillis: number
}

export interface DatabaseOptions extends ConnectionOptions, Partial<Limits> {}

const defaults: Limits = {
  maxConnections: 10,
  acquireMillis: 5_000,
  statementMillis: 30_000,
  listMillis: 5_000,
}

/** Runs one statement; rows are as the caller's statement names them. */
export interface RunStatement {
  <Row extends object = never>(
    text: string,
    parameters?: ReadonlyArray<unknown>,
  ): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
}

/** Rows of one kind: each reads the values that came, by the names of their columns. */
export type RowsOver = new (values: ReadonlyArray<unknown>) => object

/**
 * Rows of columns that are known before, in their order. To make an object of 30 names for each row
 * takes a third of the time of a list; these hold what came as it came.
 */
export const rowsOver = (names: ReadonlyArray<string>): RowsOver => {
  class Row {
    readonly values: ReadonlyArray<unknown>
    constructor(values: ReadonlyArray<unknown>) {
      this.values = values
    }
  }
  names.forEach((name, index) => {
    Object.defineProperty(Row.prototype, name, {
      get(this: Row) {
        return this.values[index]
      },
    })
  })
  return Row
}

export interface DatabaseService {
  /** What connections are made from, for those that are not the pool's. */
  readonly connection: PgConnection.Config
  readonly maxConnections: number
  /**
   * One statement in a transaction of its own. `operation` names it in failures and traces; `over`
   * says which columns it returns, where there are many.
   */
  query<Row extends object = never>(
    operation: string,
    text: string,
    parameters?: ReadonlyArray<unknown>,
    over?: RowsOver,
  ): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  /**
   * A page of a list. What its `holder` (a workspace, as a rule) asks for is read a few at a time and in
   * bounded time, so that reading never holds up what is being written; above that it fails with a
   * `StoreUnavailable` that says when to try again.
   */
  list<Row extends object = never>(
    holder: string | number,
    operation: string,
    text: string,
    parameters?: ReadonlyArray<unknown>,
    over?: RowsOver,
  ): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  /**
   * Several statements, all or nothing, on one connection. The whole body is repeated after a
   * deadlock: it must have no other effects.
   */
  transaction<A>(
    operation: string,
    body: (run: RunStatement) => Effect.Effect<A, SqlError.SqlError>,
    options?: { readonly statementMillis: number },
  ): Effect.Effect<A, StoreUnavailable>
}

export class Database extends Context.Service<Database, DatabaseService>()(
  "store-postgres/Database",
) {
  static readonly layer = (options: DatabaseOptions) =>
    Layer.effect(Database, fromConnections(connectionConfig(options), { ...defaults, ...options }))
}

class TimedOut extends Data.TaggedError("TimedOut")<{ readonly what: string }> {
  override get message() {
    return `timed out: ${this.what}`
  }
}

/** Seconds after which a list that found no room, or no end, may be asked for again. */
const listRetryAfter = 2

/** What a client waits beyond the server's own limit before it gives a statement up. */
const graceMillis = 1_000

/**
 * The settings that plans depend on. Statements are many and short: they are planned once and
 * kept, not compiled. Since a plan outlives the size of the tables it was made for, none may count
 * on a table being small, as it is in a young database: every statement finds what it needs by an
 * index, row by row.
 */
export const planning: Readonly<Record<string, string>> = {
  plan_cache_mode: "force_generic_plan",
  jit: "off",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  // Remembering inner rows pays only where the same keys repeat, and here they do not.
  enable_memoize: "off",
  // A dearer random page would make it read many index entries in a row instead of looking up a
  // few.
  random_page_cost: "1",
}

/** The connection as both the pool and single connections use it. */
export const connectionConfig = (options: DatabaseOptions): PgConnection.Config => ({
  ...options,
  applicationName: "messaging-service",
  connectTimeout: options.acquireMillis ?? defaults.acquireMillis,
  keepAlive: "30 seconds",
  startupParameters: {
    statement_timeout: String(options.statementMillis ?? defaults.statementMillis),
    idle_in_transaction_session_timeout: "60000",
    ...planning,
  },
})

/** Connections of a pool that may read lists: of a small one a third, but always one. */
const listsOf = (maxConnections: number): number =>
  Math.max(1, Math.min(sharedResources.lists.whole, Math.floor(maxConnections / 3)))

/** A pool over any way to connect; PGlite has one of its own. */
export const fromConnections = Effect.fnUntraced(function* (
  connection: PgConnection.Config,
  { acquireMillis, listMillis, maxConnections, statementMillis }: Limits,
) {
  const listPlaces = makePlaces<string | number>({
    ...sharedResources.lists,
    whole: listsOf(maxConnections),
  })
  const pool = yield* inRealTime(PgPool.make({ ...connection, maxConnections })).pipe(
    Effect.mapError((cause) => new StoreUnavailable({ operation: "connect", cause })),
  )

  // Where the pool cannot be waiting, its cheaper way to lend a connection will do.
  let borrowed = 0
  const borrow = <A, E>(use: (connection: PgConnection.PgConnection) => Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      borrowed++
      const waited = within(pool.get, acquireMillis, "waiting for a connection")
      const run =
        borrowed <= maxConnections ? pool.use(use) : Effect.scoped(Effect.flatMap(waited, use))
      return Effect.ensuring(
        run,
        Effect.sync(() => {
          borrowed--
        }),
      )
    })

  const failing =
    (operation: string, millis: number) =>
    <A>(effect: Effect.Effect<A, SqlError.SqlError | TimedOut>) =>
      Effect.withSpan(
        within(Effect.retry(effect, againAfterConflict), millis, operation).pipe(
          Effect.mapError((cause) => new StoreUnavailable({ operation, cause })),
          inRealTime,
        ),
        `postgres.${operation}`,
        // The stack would only name this line, and capturing it costs as much as all else here.
        { captureStackTrace: false },
      )

  const patience = acquireMillis + statementMillis + graceMillis

  const rowsOf = <Row extends object>(
    text: string,
    parameters: ReadonlyArray<unknown>,
    Over: RowsOver | undefined,
  ) =>
    Over === undefined
      ? Effect.map(
          borrow((lent) => lent.query(text, parameters)),
          (result) => result.rows as unknown as ReadonlyArray<Row>,
        )
      : Effect.map(
          borrow((lent) => lent.queryValues(text, parameters)),
          (rows) => rows.map((values) => new Over(values) as Row),
        )

  return Database.of({
    connection,
    maxConnections,
    query: <Row extends object>(
      operation: string,
      text: string,
      parameters: ReadonlyArray<unknown> = [],
      over?: RowsOver,
    ) => failing(operation, patience)(rowsOf<Row>(text, parameters, over)),
    list: <Row extends object>(
      holder: string | number,
      operation: string,
      text: string,
      parameters: ReadonlyArray<unknown> = [],
      over?: RowsOver,
    ) =>
      failing(
        operation,
        listMillis,
      )(
        Effect.scoped(Effect.andThen(listPlaces.take(holder), rowsOf<Row>(text, parameters, over))),
      ).pipe(
        Effect.mapError((error) =>
          isOvertime(error.cause)
            ? new StoreUnavailable({ ...error, retryAfter: listRetryAfter })
            : error,
        ),
      ),
    transaction: (operation, body, { statementMillis: millis } = { statementMillis }) =>
      borrow((lent) =>
        Effect.scoped(
          Effect.flatMap(lent.pin, (pinned) => inTransaction(pinned, body(statementsOn(pinned)))),
        ),
      ).pipe(failing(operation, acquireMillis + millis + graceMillis)),
  })
})

/** Statements of a transaction are of many kinds: they are not kept prepared. */
const statementsOn =
  (connection: PgConnection.PgConnection): RunStatement =>
  <Row extends object>(text: string, parameters: ReadonlyArray<unknown> = []) =>
    Effect.map(
      connection.query(text, parameters, false),
      (result) => result.rows as unknown as ReadonlyArray<Row>,
    )

const inTransaction = <A>(
  connection: PgConnection.PgConnection,
  body: Effect.Effect<A, SqlError.SqlError>,
): Effect.Effect<A, SqlError.SqlError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      yield* restore(connection.query("begin", [], false))
      const exit = yield* Effect.exit(restore(body))
      if (Exit.isSuccess(exit)) {
        yield* connection.query("commit", [], false)
        return exit.value
      }
      // A connection that died has rolled back already.
      yield* Effect.ignore(connection.query("rollback", [], false))
      return yield* exit
    }),
  )

const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  millis: number,
  what: string,
): Effect.Effect<A, E | TimedOut, R> =>
  Effect.timeoutOrElse(effect, {
    duration: millis,
    orElse: () => Effect.fail(new TimedOut({ what })),
  })

/** A conflict with other transactions: the statement did nothing, and may succeed when repeated. */
const isConflict = (error: SqlError.SqlError | TimedOut): boolean =>
  error._tag === "SqlError" &&
  (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

const againAfterConflict = {
  schedule: Schedule.exponential("5 millis"),
  times: 5,
  while: isConflict,
} as const

/** The time ran out, here or at the server. */
const isOvertime = (cause: unknown): boolean => cause instanceof TimedOut

const realClock = Clock.Clock.defaultValue()

/** Frees an effect from an adjustable or a test's clock. */
export const inRealTime = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Clock.Clock, realClock)
