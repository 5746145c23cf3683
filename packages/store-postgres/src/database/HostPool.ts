/**
 * A pool of the host's in place of our own. It is asked for connections one at a time, and gets each
 * back as it was; one that was given up in the middle of a statement is closed. Settings are the
 * host's: nothing is changed on its connections.
 */
import { StoreUnavailable } from "@messaging-service/core"
import { Cause, Data, Effect, Exit, Queue } from "effect"
import {
  ConnectionError,
  ConstraintError,
  DeadlockError,
  LockTimeoutError,
  SerializationError,
  SqlError,
  StatementTimeoutError,
  UniqueViolation,
  UnknownError,
  isSqlError,
} from "effect/sql/SqlError"
import type {
  Connection,
  ConnectionPool,
  HostClient,
  HostNotification,
  HostPool,
  HostStatement,
} from "./Connection.ts"
import { asText, findDecoder } from "./TextValues.ts"

/** The fields that an error of PostgreSQL has in every client library, as far as it passes them on. */
const field = (cause: unknown, name: string): string | undefined => {
  const value = (cause as Readonly<Record<string, unknown>> | null)?.[name]
  return typeof value === "string" ? value : undefined
}

/** An error of another client library as one of ours, which tells whether to try again. */
export const toSqlError = (cause: unknown): SqlError => {
  const code = field(cause, "code") ?? ""
  const details = { cause, message: cause instanceof Error ? cause.message : String(cause) }
  if (code === "40P01") return new SqlError({ reason: new DeadlockError(details) })
  if (code === "40001") return new SqlError({ reason: new SerializationError(details) })
  if (code === "55P03") return new SqlError({ reason: new LockTimeoutError(details) })
  if (code === "57014") return new SqlError({ reason: new StatementTimeoutError(details) })
  if (code === "23505") {
    const constraint = field(cause, "constraint") ?? "unknown"
    return new SqlError({ reason: new UniqueViolation({ ...details, constraint }) })
  }
  if (code.startsWith("23")) return new SqlError({ reason: new ConstraintError(details) })
  return /^\d/.test(code)
    ? new SqlError({ reason: new UnknownError(details) })
    : new SqlError({ reason: new ConnectionError(details) })
}

/** Seconds after which what another transaction holds may be free: an idle one of a caller's is ended by then. */
const heldRetryAfter = 5

/** Whether a statement gave a lock up that another transaction held for too long. */
export const isLockTimeout = (cause: unknown): boolean =>
  isSqlError(cause) && cause.reason._tag === "LockTimeoutError"

/** The embedded database has ended and is about to open again: nothing was asked of it. */
export class NotOpen extends Data.TaggedError("NotOpen")<{ readonly because: string }> {
  override get message() {
    return `the embedded database is not open at the moment: ${this.because}`
  }
}

/** Last words of an embedded database on a full disk; a server says so by a code. */
const noSpace = /no space left on device|ENOSPC|EDQUOT/i

/** Whether the disk was full. What then failed was undone, or is undone when the database opens again. */
const isDiskFull = (cause: unknown): boolean => {
  if (typeof cause !== "object" || cause === null) return false
  const inner = cause as { readonly cause?: unknown; readonly reason?: unknown }
  return (
    field(cause, "code") === "53100" ||
    noSpace.test(field(cause, "message") ?? "") ||
    isDiskFull(inner.reason ?? inner.cause)
  )
}

/** Seconds after which there may be room again, as for uploads. */
const roomRetryAfter = 60

/** Seconds after which it may be open, as often as that is tried. */
const openRetryAfter = 5

const retryAfter = (cause: unknown): number | undefined => {
  if (isLockTimeout(cause)) return heldRetryAfter
  if (isSqlError(cause) && cause.reason.cause instanceof NotOpen) return openRetryAfter
  return isDiskFull(cause) ? roomRetryAfter : undefined
}

/** What failed; where something is only held or unreachable for now, it says when to try again. */
export const unavailable = (operation: string, cause: unknown): StoreUnavailable => {
  const seconds = retryAfter(cause)
  return new StoreUnavailable({
    operation,
    cause,
    ...(seconds === undefined ? {} : { retryAfter: seconds }),
    ...(isDiskFull(cause) ? { isDiskFull: true } : {}),
  })
}

const types = { getTypeParser: findDecoder }

/** A connection that breaks fails the statement on it; between statements that is nothing new. */
const brokenBetween = () => undefined

/** The next free client. One that comes after it was given up goes back at once. */
const freeClient = (pool: HostPool) =>
  Effect.callback<HostClient, SqlError>((resume) => {
    let isAwaited = true
    pool.connect().then(
      (client) => {
        if (!isAwaited) return client.release()
        client.on("error", brokenBetween)
        return resume(Effect.succeed(client))
      },
      (cause: unknown) => resume(Effect.fail(toSqlError(cause))),
    )
    return Effect.sync(() => {
      isAwaited = false
    })
  })

/** In the middle of a statement, or of listening. */
const isAbandoned = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Exit.hasInterrupts(exit)

/** How long a client may take to stop listening before it goes back. */
const unlistenMillis = 1000

/** A client for as long as the scope is open. */
const lentClient = (pool: HostPool) =>
  Effect.acquireRelease(
    freeClient(pool),
    (client, exit) =>
      Effect.sync(() => {
        client.off("error", brokenBetween)
        client.release(isAbandoned(exit))
      }),
    { interruptible: true },
  )

const connectionOn = (client: HostClient): Connection => {
  const query = (statement: HostStatement) =>
    Effect.tryPromise({
      try: () => client.query(statement),
      catch: toSqlError,
    })
  const connection: Connection = {
    query: (text, parameters = []) => query({ ...asText(text, parameters), types }),
    queryValues: (text, parameters = []) =>
      Effect.map(
        query({ ...asText(text, parameters), types, rowMode: "array" }),
        ({ rows }) => rows as ReadonlyArray<ReadonlyArray<unknown>>,
      ),
    pin: Effect.suspend(() => Effect.succeed(connection)),
  }
  return connection
}

/** A connection of the pool that is kept to speak and hear on (see `PostgresWakeUp.ts`). */
export const hostLine = (pool: HostPool) =>
  Effect.gen(function* () {
    const client = yield* lentClient(pool)
    const connection = connectionOn(client)
    const { rows } = yield* connection.query("select pg_backend_pid() as pid")
    const [{ pid }] = rows as readonly [{ readonly pid: number }]
    return {
      connection,
      listen: Effect.fnUntraced(function* (channel: string) {
        const words = yield* Queue.unbounded<string, SqlError>()
        const hear = (message: HostNotification) => {
          if (message.channel === channel && message.processId !== pid) {
            Queue.offerUnsafe(words, message.payload ?? "")
          }
        }
        const stop = (cause: unknown) => {
          Queue.failCauseUnsafe(words, Cause.fail(toSqlError(cause)))
        }
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            client.on("notification", hear)
            client.on("error", stop)
          }),
          (_, exit) => {
            client.off("notification", hear)
            client.off("error", stop)
            // One that was given up is closed; of another the host must hear no words of ours.
            return isAbandoned(exit)
              ? Effect.void
              : Effect.ignore(
                  Effect.timeout(connection.query(`unlisten "${channel}"`), unlistenMillis),
                )
          },
        )
        yield* connection.query(`listen "${channel}"`)
        return Queue.take(words)
      }),
    }
  })

/** How many connections a pool of `pg` has when it is not told. */
const defaultMaximum = 10

export const getMaximum = (pool: HostPool): number => pool.options?.max ?? defaultMaximum

/**
 * The host has clients of the pool too: each may have to be waited for. A pool reports its idle clients
 * that broke with an event, which would end a program that does not listen; the next statement tells too.
 */
export const hostConnections = (pool: HostPool) =>
  Effect.as(
    Effect.acquireRelease(
      Effect.sync(() => pool.on?.("error", brokenBetween)),
      () => Effect.sync(() => pool.off?.("error", brokenBetween)),
    ),
    {
      maxConnections: getMaximum(pool),
      get: Effect.map(lentClient(pool), connectionOn),
    } satisfies ConnectionPool,
  )
