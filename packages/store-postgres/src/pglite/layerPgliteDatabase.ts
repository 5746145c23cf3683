/** The `Database` on an embedded PGlite, for a single process that needs no server. */
import { StoreUnavailable } from "@messaging-service/core/ports"
import { Effect, Layer, Schedule } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { ConnectionPool } from "../database/Connection.ts"
import { Database, fromConnections, inRealTime, ownConnections } from "../database/Database.ts"
import { NotOpen, sqlErrorOf } from "../database/HostPool.ts"
import { lockDirectory } from "./DirectoryLock.ts"
import type { PgliteThread, ThreadOptions } from "./PgliteThread.ts"

export interface PgliteOptions {
  /** Where it keeps its files; in memory without one. One process at a time may use a directory. */
  readonly dataDir?: string
  /** As in `DatabaseOptions`. */
  readonly schema?: string
}

/** There is one session: further connections only queue up for it, and share syncs. */
const maxConnections = 8

/** A request waits for the work of all requests before it. */
const acquireMillis = 30_000
const statementMillis = 60_000

const defaultHousekeepingMillis = 10_000

/** Between attempts to open a database that ended: its disk may be full for long. */
const reopenSchedule = Schedule.min([
  Schedule.exponential("100 millis"),
  Schedule.spaced("5 seconds"),
])

const locked = ({ dataDir }: PgliteOptions) =>
  dataDir === undefined ? Effect.void : lockDirectory(dataDir)

const openThread = (options: ThreadOptions) =>
  Effect.tryPromise({
    try: async () => {
      // Loaded where it is used: the edge has no threads.
      const { PgliteThread } = await import("./PgliteThread.ts")
      return PgliteThread.open(options)
    },
    catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
  })

/**
 * The database while it is open; one that ended is opened again, which recovers all that was acknowledged. In between
 * its connections fail. What lay in memory alone is lost with it.
 */
const keepOpen = Effect.fnUntraced(function* (options: ThreadOptions) {
  const runLog = Effect.runSyncWith(yield* Effect.context<never>())
  const openWatched = Effect.map(openThread(options), (thread) => {
    thread.onFailure = (reason) =>
      runLog(Effect.logWarning(`Housekeeping of the embedded database failed: ${reason}`))
    return thread
  })
  const current: { thread: PgliteThread } = yield* Effect.acquireRelease(
    Effect.map(openWatched, (thread) => ({ thread })),
    ({ thread }) => Effect.promise(() => thread.close()),
  )
  const reopen = Effect.gen(function* () {
    const reason = yield* Effect.promise(() => current.thread.ended)
    if (options.dataDir === undefined) {
      yield* Effect.logError(`The database in memory has ended: ${reason}`)
      return yield* Effect.never
    }
    yield* Effect.logError(
      `The embedded database has ended, requests are refused until it opens again: ${reason}`,
    )
    const opened = Effect.map(openWatched, (thread) => {
      current.thread = thread
    })
    yield* Effect.retry(Effect.uninterruptible(opened), reopenSchedule)
    yield* Effect.logInfo("The embedded database is open again")
  })
  yield* Effect.forkScoped(inRealTime(Effect.forever(reopen)))
  return current
})

/** Refuses at once while the database is not open; what had been asked of it before fails as lost connections do. */
const whileOpen = (
  pool: ConnectionPool,
  current: { readonly thread: PgliteThread },
): ConnectionPool => {
  const refused = Effect.fail(sqlErrorOf(new NotOpen()))
  const ifOpen = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E | SqlError, R> =>
      current.thread.isOpen ? effect : refused,
    )
  const { get, use } = pool
  return {
    maxConnections: pool.maxConnections,
    get: ifOpen(get),
    ...(use === undefined ? {} : { use: (run) => ifOpen(use(run)) }),
  }
}

export const layerPgliteDatabase = (
  options: PgliteOptions,
  housekeepingMillis = defaultHousekeepingMillis,
) =>
  Layer.effect(
    Database,
    Effect.gen(function* () {
      yield* locked(options)
      const current = yield* keepOpen({ dataDir: options.dataDir, housekeepingMillis })
      const stream = () => current.thread.connect()
      const pool = yield* ownConnections(
        { stream, username: "postgres", database: "postgres", prepare: false },
        maxConnections,
      )
      // A statement under way there cannot be called off: it is waited for like any other.
      const limits = { acquireMillis, statementMillis, listMillis: statementMillis }
      return yield* fromConnections(whileOpen(pool, current), limits, {
        ...options,
        joinable: false,
      })
    }),
  )
