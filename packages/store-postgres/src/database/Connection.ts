/**
 * Connections as the database uses them, whether they are our own, through Effect's client, or those of
 * a pool that the host hands over.
 */
import type { PgConnection } from "@effect/sql-pg"
import { Redacted } from "effect"
import type { Effect, Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { ConnectionOptions as TlsOptions } from "node:tls"
import { readUrl } from "./DatabaseUrl.ts"

/** One connection. Statements that are not `prepared` are not kept there. */
export interface Connection {
  query(
    text: string,
    parameters?: ReadonlyArray<unknown>,
    prepared?: boolean,
  ): Effect.Effect<{ readonly rows: ReadonlyArray<unknown> }, SqlError>
  /** The same, each row as its values in their order. */
  queryValues(
    text: string,
    parameters?: ReadonlyArray<unknown>,
  ): Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError>
  /** Itself, with no statements of others between ours. */
  readonly pin: Effect.Effect<Connection, never, Scope.Scope>
}

export interface ConnectionPool {
  readonly maxConnections: number
  readonly get: Effect.Effect<Connection, SqlError, Scope.Scope>
  /** A cheaper way to lend one of a pool of our own, where it need not be waited for. */
  readonly use?: <A, E>(
    run: (connection: Connection) => Effect.Effect<A, E>,
  ) => Effect.Effect<A, E | SqlError>
}

/** A statement as a client of `pg` takes it. */
export interface HostStatement {
  text: string
  values: Array<string | null>
  rowMode?: "array"
  types: { getTypeParser(oid: number): (text: string) => unknown }
}

/** What a listener hears. */
export interface HostNotification {
  readonly processId: number
  readonly channel: string
  readonly payload?: string | undefined
}

/** What is used of a client of `pg`. */
export interface HostClient {
  query(statement: HostStatement): Promise<{ readonly rows: ReadonlyArray<unknown> }>
  release(broken?: Error | boolean): void
  on(event: "notification", listener: (message: HostNotification) => void): unknown
  on(event: "error", listener: (error: Error) => void): unknown
  off(event: string, listener: (input: HostNotification & Error) => void): unknown
}

/** What is used of a `Pool` of `pg`. */
export interface HostPool {
  connect(): Promise<HostClient>
  on?(event: "error", listener: () => void): unknown
  off?(event: "error", listener: () => void): unknown
  readonly options?: { readonly max?: number | undefined }
}

/** Where PostgreSQL is: a `postgres://` URL, or its parts; `path` is a Unix socket. */
export interface ConnectionOptions {
  readonly url?: string
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly database?: string
  readonly username?: string
  readonly password?: string
  readonly ssl?: boolean | TlsOptions
}

export interface Limits {
  /** Connections of the pool; 10 by default. */
  readonly maxConnections: number
  /** How long to wait for a connection of the pool; 5 s by default. */
  readonly acquireMillis: number
  /** How long one statement may take; 30 s by default. */
  readonly statementMillis: number
  /** How long a list may take, waiting for its turn included; 5 s by default. */
  readonly listMillis: number
}

export interface DatabaseOptions extends ConnectionOptions, Partial<Limits> {
  /**
   * A pool of the host's, of `pg`, in place of an address; its own settings hold for it. The planner
   * then works under the host's settings, and a statement costs a little more than on a pool of ours.
   */
  readonly pool?: HostPool
  /**
   * The schema that holds everything of the service; several services may share a database, each in a
   * schema of its own. By default `messaging`.
   */
  readonly schema?: string
}

export const defaultLimits: Limits = {
  maxConnections: 10,
  acquireMillis: 5_000,
  statementMillis: 30_000,
  listMillis: 5_000,
}

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

/** As connections show themselves to PostgreSQL, with the schema where it is named. */
const applicationName = "messaging-service"

/** TLS as the URL wants it, where that is more than the client reads from it. */
const findTls = (url: string | undefined): TlsOptions | undefined => {
  const settings = url === undefined ? {} : readUrl(url)
  return typeof settings === "string" ? undefined : settings.ssl
}

/** How our own connections are made, those of the pool and single ones. */
export const connectionConfig = ({
  acquireMillis = defaultLimits.acquireMillis,
  database,
  host,
  password,
  path,
  port,
  schema,
  ssl,
  statementMillis = defaultLimits.statementMillis,
  url,
  username,
}: DatabaseOptions): PgConnection.Config => ({
  url: url === undefined ? undefined : Redacted.make(url),
  password: password === undefined ? undefined : Redacted.make(password),
  database,
  host,
  path,
  port,
  ssl: ssl ?? findTls(url),
  username,
  applicationName: schema === undefined ? applicationName : `${applicationName}/${schema}`,
  connectTimeout: acquireMillis,
  keepAlive: "30 seconds",
  startupParameters: {
    statement_timeout: String(statementMillis),
    idle_in_transaction_session_timeout: "60000",
    ...planning,
  },
})
