/**
 * The one way to PostgreSQL: a pool of connections on which statements and transactions run, in
 * bounded time and with one kind of failure. A statement that fails because of a conflict
 * (deadlock, serialisation) is repeated; everything else is `StoreUnavailable`. Every text is qualified
 * with the service's schema (see `Schema.ts`) on its way.
 *
 * Time-outs run on real time, whatever clock governs the service: they are about the network.
 */
import { PgPool } from "@effect/sql-pg"
import { makeBulkhead, sharedLimits, StoreUnavailable } from "@messaging-service/core"
import { Clock, Context, Data, Effect, Exit, Layer, Schedule } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import { cannotJoin, JoinedTransaction } from "./CallersTransaction.ts"
import type { Answer, Joined } from "./CallersTransaction.ts"
import { connectionConfig, defaultLimits, planning } from "./Connection.ts"
import type { Connection, ConnectionPool, DatabaseOptions, Limits } from "./Connection.ts"
import { readUrl } from "./DatabaseUrl.ts"
import { hostConnections, unavailable } from "./HostPool.ts"
import { defaultSchema, isSchemaName, qualifier, schemaNameRule, surroundings } from "./Schema.ts"
import type { Surroundings } from "./Schema.ts"

// Why the service cannot start on a database, in one line that says what to do, and no secret.

/** The oldest version that the service is tested on. */
const oldestVersion = 150_000

/** What the operator can do about an error of PostgreSQL, by its code. */
const advice: Readonly<Record<string, string>> = {
  "28P01": "check the user and the password",
  "28000": "check the user, and what the server's pg_hba.conf lets it do",
  "3D000": "create the database, or check its name",
  "42501":
    "grant the role usage on the schema and its sequences, and select, insert, update and delete on its tables; where it lacks CREATE, run migrate as a role that has it",
  "53300": "the server has no connection left: lower maxConnections, or raise its max_connections",
  "08P01":
    "a pooler such as pgbouncer takes no settings: connect to PostgreSQL itself, or see docs/postgresql.md",
  SELF_SIGNED_CERT_IN_CHAIN: "name the certificate of its authority by sslrootcert",
  DEPTH_ZERO_SELF_SIGNED_CERT: "name the certificate of its authority by sslrootcert",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "name the certificate of its authority by sslrootcert",
  "57P03": "the server is starting up or shutting down",
  ECONNREFUSED: "no server listens there",
  ENOENT: "there is no such socket",
  ENOTFOUND: "there is no host of that name",
  ECONNRESET: "the server closed the connection",
}

/** The innermost error: that of the server, or of the network. */
const rootCause = (cause: unknown): unknown => {
  const { cause: inner, reason } = (cause ?? {}) as {
    readonly cause?: unknown
    readonly reason?: unknown
  }
  const within = reason ?? inner
  return within === undefined || within === null ? cause : rootCause(within)
}

const toLine = (cause: unknown): string => {
  const root = rootCause(cause)
  const { code, message } = (root ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const words = typeof message === "string" && message !== "" ? message : String(root)
  const hint = typeof code === "string" ? advice[code] : undefined
  const first = words.split("\n", 1)[0] ?? ""
  return hint === undefined ? first : `${first} (${hint})`
}

/** The failure of a start, with only that line as its cause. */
export const cannotStart = (operation: string, cause: unknown): StoreUnavailable =>
  new StoreUnavailable({ operation, cause: new Error(toLine(cause)) })

const tooOld = (version: string): StoreUnavailable =>
  cannotStart("connect", new Error(`PostgreSQL 15 or newer is needed, and this is ${version}`))

const onStandby: StoreUnavailable = cannotStart(
  "connect",
  new Error("the database is a standby in recovery: name the primary"),
)

const readOnly: StoreUnavailable = cannotStart(
  "connect",
  new Error(
    "default_transaction_read_only is on, and the service writes: turn it off for the role, the database or the server",
  ),
)

const wrongEncoding = (encoding: string): StoreUnavailable =>
  cannotStart(
    "connect",
    new Error(
      `its encoding is ${encoding}, which cannot hold every text: make one with \`create database … encoding 'UTF8' template template0\``,
    ),
  )

const settingsLost: StoreUnavailable = cannotStart(
  "connect",
  new Error(
    "the connection does not have the settings that it asked for: a pooler such as pgbouncer dropped them; connect to PostgreSQL itself, or give them to the role (docs/postgresql.md)",
  ),
)

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
  readonly maxConnections: number
  /** How long one statement may take. */
  readonly statementMillis: number
  /** The schema that holds everything of the service. */
  readonly schema: string
  /** Whether a transaction of a caller can be on it. */
  readonly joinable: boolean
  /**
   * One statement in a transaction of its own, or in the caller's that it is joined to. `operation`
   * names it in failures and traces; `over` says which columns it returns, where there are many;
   * `answer` what they are, of statements that can be part of a caller's transaction.
   */
  query<Row extends object = never>(
    operation: string,
    text: string,
    parameters?: ReadonlyArray<unknown>,
    over?: RowsOver,
    answer?: Answer,
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
  /** The same on one connection, each statement in a transaction of its own. */
  session<A>(
    operation: string,
    body: (run: RunStatement) => Effect.Effect<A, SqlError.SqlError>,
    options: { readonly statementMillis: number },
  ): Effect.Effect<A, StoreUnavailable>
  /** Fails for a while after a statement for which the disk had no room: reading may still work. */
  readonly hasRoom: Effect.Effect<void, StoreUnavailable>
}

export class Database extends Context.Service<Database, DatabaseService>()(
  "store-postgres/Database",
) {
  static readonly layer = (options: DatabaseOptions) =>
    Layer.effect(
      Database,
      Effect.flatMap(openPool(options), (pool) =>
        fromConnections(
          pool,
          { ...defaultLimits, ...options },
          { ...options, joinable: true, keepsSettings: options.pool === undefined },
        ),
      ),
    )
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

/** Connections of a pool that may read lists: of a small one a third, but always one. */
const maxLists = (maxConnections: number): number =>
  Math.max(1, Math.min(sharedLimits.lists.whole, Math.floor(maxConnections / 3)))

/** A pool of our own connections. */
export const ownConnections = (
  connection: Parameters<typeof PgPool.make>[0],
  maxConnections: number,
) =>
  inRealTime(PgPool.make({ ...connection, maxConnections })).pipe(
    Effect.map((pool): ConnectionPool => ({
      maxConnections,
      get: pool.get,
      use: (run) => pool.use(run),
    })),
    Effect.mapError((cause) => cannotStart("connect", cause)),
  )

const openPool = ({ pool, ...options }: DatabaseOptions) => {
  if (pool !== undefined) return hostConnections(pool)
  const settings = options.url === undefined ? {} : readUrl(options.url)
  return typeof settings === "string"
    ? Effect.fail(cannotStart("connect", new Error(settings)))
    : ownConnections(
        connectionConfig(options),
        options.maxConnections ?? defaultLimits.maxConnections,
      )
}

/** The schema to work in, on a server that is new enough. */
const lookAround = Effect.fnUntraced(function* (
  run: (text: string) => Effect.Effect<ReadonlyArray<unknown>, StoreUnavailable>,
  schema: string | undefined,
  keepsSettings: boolean,
) {
  if (schema !== undefined && !isSchemaName(schema)) {
    const problem = `the schema "${schema}" must be ${schemaNameRule}`
    return yield* cannotStart("connect", new Error(problem))
  }
  const [row] = yield* run(surroundings)
  const { encoding, isReadOnly, isStandby, number, planCacheMode, version } = row as Surroundings
  if (number < oldestVersion) return yield* tooOld(version)
  if (encoding !== "UTF8") return yield* wrongEncoding(encoding)
  if (isStandby) return yield* onStandby
  if (isReadOnly) return yield* readOnly
  if (keepsSettings && planCacheMode !== planning["plan_cache_mode"]) return yield* settingsLost
  return schema ?? defaultSchema
})

/** How the database works over any way to connect; PGlite has one of its own. */
interface ConnectionsOptions {
  readonly joinable: boolean
  readonly schema?: string
  /** Whether the settings are those that our connections ask for. */
  readonly keepsSettings?: boolean
}

type PoolLimits = Omit<Limits, "maxConnections">

export const fromConnections = Effect.fnUntraced(function* fromConnections(
  pool: ConnectionPool,
  limits: PoolLimits,
  { joinable, keepsSettings = false, schema: named }: ConnectionsOptions,
) {
  const connections = new Connections(pool, limits)
  const run = (text: string) => {
    const rows = connections.withConnection((lent) =>
      Effect.map(lent.query(text, [], false), (result) => result.rows),
    )
    return connections
      .withTimeoutAndRetry("connect", rows)
      .pipe(Effect.mapError(({ cause }) => cannotStart("connect", cause)))
  }
  const schema = yield* lookAround(run, named, keepsSettings)
  return Database.of(new PooledDatabase(connections, limits, schema, joinable))
})

/** How long a disk counts as full after a statement that failed for it: longer than between two probes. */
const fullMillis = 30_000

/** Connections that are lent in bounded time, and failures of one kind. */
class Connections {
  readonly maxConnections: number
  readonly #pool: ConnectionPool
  readonly #acquireMillis: number
  /** How long a statement may take with a connection for it. */
  readonly #statementMillis: number
  #lent = 0
  /** The latest failure for want of room. */
  #full: { readonly error: StoreUnavailable; readonly at: number } | null = null

  constructor(pool: ConnectionPool, { acquireMillis, statementMillis }: PoolLimits) {
    this.maxConnections = pool.maxConnections
    this.#pool = pool
    this.#acquireMillis = acquireMillis
    this.#statementMillis = statementMillis
  }

  withConnection<A, E>(use: (connection: Connection) => Effect.Effect<A, E>) {
    const begin = () => {
      this.#lent++
    }
    const end = () => {
      this.#lent--
    }
    return Effect.acquireUseRelease(
      Effect.sync(begin),
      () => this.#lend(use),
      () => Effect.sync(end),
    )
  }

  #lend<A, E>(use: (connection: Connection) => Effect.Effect<A, E>) {
    // Where the pool cannot be waiting, its cheaper way to lend a connection will do.
    const isWaiting = this.#lent > this.maxConnections
    if (this.#pool.use !== undefined && !isWaiting) return this.#pool.use(use)
    const connection = withTimeout(this.#pool.get, this.#acquireMillis, this.#whyNone(isWaiting))
    return Effect.scoped(Effect.flatMap(connection, use))
  }

  /** Why no connection came, in the words of the log. */
  #whyNone(isWaiting: boolean): string {
    return isWaiting
      ? `the pool is exhausted: all ${this.maxConnections} connections were in use for ${this.#acquireMillis} ms`
      : `no connection came from the pool for ${this.#acquireMillis} ms: it is exhausted, or the server does not answer`
  }

  /** In time for a connection, for a statement or what `millis` says, and for the server's own answer. */
  withTimeoutAndRetry<A>(
    operation: string,
    effect: Effect.Effect<A, SqlError.SqlError | TimedOut>,
    millis = this.#statementMillis,
  ): Effect.Effect<A, StoreUnavailable> {
    const all = this.#acquireMillis + millis + graceMillis
    return asOperation(operation, effect, all, (error) => this.#note(error))
  }

  #note(error: StoreUnavailable): StoreUnavailable {
    if (error.isDiskFull === true) this.#full = { error, at: performance.now() }
    return error
  }

  readonly hasRoom = Effect.suspend(() =>
    this.#full !== null && performance.now() - this.#full.at < fullMillis
      ? Effect.fail(this.#full.error)
      : Effect.void,
  )
}

/** Retries conflicts until the time is over, and names the operation in failures and traces. */
const asOperation = <A>(
  operation: string,
  effect: Effect.Effect<A, SqlError.SqlError | TimedOut>,
  millis: number,
  note = (error: StoreUnavailable) => error,
): Effect.Effect<A, StoreUnavailable> => {
  const toUnavailable = (cause: unknown) => note(unavailable(operation, cause))
  const bounded = withTimeout(Effect.retry(effect, againAfterConflict), millis, operation)
  return Effect.withSpan(
    inRealTime(Effect.mapError(bounded, toUnavailable)),
    `postgres.${operation}`,
    // The stack would only name this line, and capturing it costs as much as all else here.
    { captureStackTrace: false },
  )
}

class PooledDatabase implements DatabaseService {
  readonly maxConnections: number
  readonly statementMillis: number
  readonly schema: string
  readonly joinable: boolean
  readonly hasRoom: Effect.Effect<void, StoreUnavailable>
  readonly #connections: Connections
  readonly #listMillis: number
  readonly #lists: ReturnType<typeof makeBulkhead<string | number>>
  readonly #qualified: (text: string) => string

  constructor(
    connections: Connections,
    { listMillis, statementMillis }: PoolLimits,
    schema: string,
    joinable: boolean,
  ) {
    const { maxConnections } = connections
    this.maxConnections = maxConnections
    this.statementMillis = statementMillis
    this.schema = schema
    this.joinable = joinable
    this.hasRoom = connections.hasRoom
    this.#connections = connections
    this.#listMillis = listMillis
    this.#lists = makeBulkhead<string | number>({
      ...sharedLimits.lists,
      whole: maxLists(maxConnections),
    })
    this.#qualified = qualifier(schema)
  }

  query<Row extends object>(
    operation: string,
    text: string,
    params: ReadonlyArray<unknown> = [],
    over?: RowsOver,
    answer?: Answer,
  ): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable> {
    const runOrJoin = (joined: Joined | null) =>
      joined === null
        ? this.#connections.withTimeoutAndRetry(operation, this.#rows<Row>(text, params, over))
        : joined.rows<Row>(operation, this.#qualified(text), params, answer)
    return Effect.flatMap(JoinedTransaction, runOrJoin)
  }

  list<Row extends object>(
    holder: string | number,
    operation: string,
    text: string,
    params: ReadonlyArray<unknown> = [],
    over?: RowsOver,
  ): Effect.Effect<ReadonlyArray<Row>, StoreUnavailable> {
    const rows = this.#rows<Row>(text, params, over)
    const sequentially = Effect.scoped(Effect.andThen(this.#lists.acquire(holder), rows))
    return asOperation(operation, sequentially, this.#listMillis).pipe(
      Effect.mapError(retryableAfterTimeout),
      alone(operation),
    )
  }

  transaction<A>(
    operation: string,
    body: (run: RunStatement) => Effect.Effect<A, SqlError.SqlError>,
    { statementMillis } = { statementMillis: this.statementMillis },
  ): Effect.Effect<A, StoreUnavailable> {
    return this.#onOne(operation, statementMillis, (pinned) =>
      inTransaction(pinned, body(statementsOn(pinned, this.#qualified))),
    )
  }

  session<A>(
    operation: string,
    body: (run: RunStatement) => Effect.Effect<A, SqlError.SqlError>,
    { statementMillis }: { readonly statementMillis: number },
  ): Effect.Effect<A, StoreUnavailable> {
    return this.#onOne(operation, statementMillis, (pinned) =>
      body(statementsOn(pinned, this.#qualified)),
    )
  }

  /** On one connection from the first statement to the last. */
  #onOne<A>(
    operation: string,
    millis: number,
    use: (pinned: Connection) => Effect.Effect<A, SqlError.SqlError>,
  ): Effect.Effect<A, StoreUnavailable> {
    const used = this.#connections.withConnection((lent) =>
      Effect.scoped(Effect.flatMap(lent.pin, use)),
    )
    return this.#connections.withTimeoutAndRetry(operation, used, millis).pipe(alone(operation))
  }

  #rows<Row extends object>(
    text: string,
    params: ReadonlyArray<unknown>,
    Over: RowsOver | undefined,
  ) {
    const qualified = this.#qualified(text)
    const queryRows = (lent: Connection) => Effect.map(lent.query(qualified, params), getRows<Row>)
    if (Over === undefined) return this.#connections.withConnection(queryRows)
    const wrap = (rows: ReadonlyArray<ReadonlyArray<unknown>>) =>
      rows.map((values) => new Over(values) as Row)
    return this.#connections.withConnection((lent) =>
      Effect.map(lent.queryValues(qualified, params), wrap),
    )
  }
}

const getRows = <Row extends object>({ rows }: { readonly rows: unknown }): ReadonlyArray<Row> =>
  rows as ReadonlyArray<Row>

const retryableAfterTimeout = (error: StoreUnavailable): StoreUnavailable =>
  isOvertime(error.cause) ? new StoreUnavailable({ ...error, retryAfter: listRetryAfter }) : error

/** Statements of a transaction are of many kinds: they are not kept prepared. */
const statementsOn =
  (connection: Connection, qualified: (text: string) => string): RunStatement =>
  <Row extends object>(text: string, parameters: ReadonlyArray<unknown> = []) =>
    Effect.map(connection.query(qualified(text), parameters, false), getRows<Row>)

/** What opens a transaction of its own, or waits for others, has no place in a caller's. */
const alone =
  (operation: string) =>
  <A>(effect: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A, StoreUnavailable> =>
    Effect.flatMap(JoinedTransaction, (joined) =>
      joined === null ? effect : Effect.fail(cannotJoin(operation)),
    )

const inTransaction = <A>(
  connection: Connection,
  body: Effect.Effect<A, SqlError.SqlError>,
): Effect.Effect<A, SqlError.SqlError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      // A host's pool may say otherwise: behind a lock a statement must see what was committed before.
      yield* restore(connection.query("begin isolation level read committed", [], false))
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

const withTimeout = <A, E, R>(
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
