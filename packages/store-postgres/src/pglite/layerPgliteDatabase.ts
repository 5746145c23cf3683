/** The `Database` on an embedded PGlite, for a single process that needs no server. */
import { StoreUnavailable } from "@messaging-service/core"
import { Effect, Layer, Schedule } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { ConnectionPool } from "../database/Connection.ts"
import { Database, fromConnections, inRealTime, ownConnections } from "../database/Database.ts"
import { NotOpen, toSqlError } from "../database/HostPool.ts"
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

/** Hands the thread over before it is open, to close it also when this is interrupted. */
const openThread = (options: ThreadOptions, handOver: (thread: PgliteThread) => void) =>
  Effect.tryPromise({
    try: async (interrupted) => {
      // Loaded where it is used: the edge has no threads.
      const { PgliteThread } = await import("./PgliteThread.ts")
      interrupted.throwIfAborted()
      const thread = new PgliteThread(options)
      handOver(thread)
      await thread.opened
      return thread
    },
    catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
  })

/**
 * The database while it is open; one that ended is opened again, which recovers all that was acknowledged. In between
 * its connections fail. What lay only in memory is lost with it.
 */
const keepOpen = Effect.fnUntraced(function* (options: ThreadOptions) {
  const runLog = Effect.runSyncWith(yield* Effect.context<never>())
  const current: { thread?: PgliteThread; ended: string } = { ended: "it has ended" }
  const open = openThread(options, (thread) => {
    thread.onFailure = (reason) =>
      runLog(Effect.logWarning(`Housekeeping of the embedded database failed: ${reason}`))
    current.thread = thread
  })
  yield* Effect.addFinalizer(() => Effect.promise(async () => current.thread?.close()))
  const first = yield* open
  const reopen = Effect.gen(function* () {
    const reason = yield* Effect.promise(async () => current.thread?.ended)
    current.ended = reason ?? current.ended
    if (options.dataDir === undefined) {
      yield* Effect.logError(`The database in memory has ended: ${reason}`)
      return yield* Effect.never
    }
    yield* Effect.logError(
      `The embedded database has ended, requests are refused until it opens again: ${reason}`,
    )
    yield* Effect.retry(open, reopenSchedule)
    yield* Effect.logInfo("The embedded database is open again")
  })
  yield* Effect.forkScoped(inRealTime(Effect.forever(reopen)))
  return {
    connect: () => (current.thread ?? first).connect(),
    isOpen: () => current.thread?.isOpen === true,
    // One that opens again has not ended; the one before it has.
    ended: () => current.thread?.reason ?? current.ended,
  }
})

/** Refuses at once while the database is not open; what had been asked of it before fails as lost connections do. */
const whileOpen = (
  pool: ConnectionPool,
  { ended, isOpen }: { readonly isOpen: () => boolean; readonly ended: () => string },
): ConnectionPool => {
  const refused = Effect.suspend(() => Effect.fail(toSqlError(new NotOpen({ because: ended() }))))
  const ifOpen = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E | SqlError, R> => (isOpen() ? effect : refused))
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
      const opened = yield* keepOpen({ dataDir: options.dataDir, housekeepingMillis })
      const pool = yield* ownConnections(
        { stream: opened.connect, username: "postgres", database: "postgres", prepare: false },
        maxConnections,
      )
      // A statement under way there cannot be called off: it is waited for like any other.
      const limits = { acquireMillis, statementMillis, listMillis: statementMillis }
      return yield* fromConnections(whileOpen(pool, opened), limits, {
        ...options,
        joinable: false,
      })
    }),
  )
