/** The `Database` on an embedded PGlite, for a single process that needs no server. */
import { StoreUnavailable } from "@messaging-service/core/ports"
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { access, mkdir, open as openFile, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { planning } from "../database/Connection.ts"
import { Database, fromConnections, ownConnections } from "../database/Database.ts"
import { PgliteServer } from "./PgliteServer.ts"

export interface PgliteOptions {
  /** Where it keeps its files; in memory without one. One process at a time may use a directory. */
  readonly dataDir?: string
  /** As in `DatabaseOptions`. */
  readonly schema?: string
}

/** There is one backend: further connections only queue up for it. */
const maxConnections = 4

/** A request waits for the work of all requests before it. */
const acquireMillis = 30_000
const statementMillis = 60_000

const locked = ({ dataDir }: PgliteOptions) =>
  dataDir === undefined ? Effect.void : lockDirectory(dataDir)

const open = (options: PgliteOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        // Loaded where it is used: it is half of what this package weighs.
        const { PGlite } = await import("@electric-sql/pglite")
        const { dataDir } = options
        const made = dataDir === undefined ? () => {} : await beginMaking(dataDir)
        const opened = await PGlite.create(dataDir ?? "memory://")
        await made()
        const settings = Object.entries(planning).map(([name, value]) => `set ${name} = ${value}`)
        await opened.exec([...settings, "set timezone = 'UTC'"].join(";"))
        return opened
      },
      catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
    }),
    (opened) => Effect.promise(() => opened.close()),
  )

export const layerPgliteDatabase = (options: PgliteOptions) =>
  Layer.effect(
    Database,
    Effect.gen(function* () {
      yield* locked(options)
      const opened = yield* open(options)
      const pool = yield* ownConnections(
        {
          stream: new PgliteServer(opened).connect,
          username: "postgres",
          database: "postgres",
          prepare: false,
        },
        maxConnections,
      )
      // A statement under way there cannot be called off: it is waited for like any other.
      const limits = { acquireMillis, statementMillis, listMillis: statementMillis }
      return yield* fromConnections(pool, limits, { ...options, joinable: false })
    }),
  )

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** What was just made or removed in the directory stays so when the machine loses its power. */
const keepEntries = async (directory: string): Promise<void> => {
  const handle = await openFile(directory, "r")
  await handle.sync().finally(() => handle.close())
}

/**
 * A database whose first making was broken off would never open: a file beside it says that it is being
 * made, and with that file there it is made anew, since nothing can have been kept in it yet. Returns
 * what to do once it is made.
 */
const beginMaking = async (dataDir: string): Promise<() => Promise<void>> => {
  const directory = resolve(dataDir)
  const marker = `${directory}.making`
  if (await exists(marker)) await rm(directory, { recursive: true, force: true })
  else if (await exists(join(directory, "PG_VERSION"))) return async () => {}
  await mkdir(dirname(marker), { recursive: true })
  await writeFile(marker, "")
  await keepEntries(dirname(marker))
  return async () => {
    await rm(marker)
    await keepEntries(dirname(marker))
  }
}

/** Those of this very process, which its id cannot tell apart. */
const held = new Set<string>()

/**
 * One process at a time: an embedded database that two processes write to is lost. The holder's
 * process id stands in a file beside the directory; a file whose process is gone means nothing.
 * Holds the directory for as long as the scope is open; fails when it is in use.
 */
export const lockDirectory = (
  directory: string,
): Effect.Effect<void, StoreUnavailable, Scope.Scope> => {
  const file = `${resolve(directory)}.lock`
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => take(file),
        catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
      }),
      () => Effect.promise(() => release(file)),
    ),
  )
}

const take = async (file: string): Promise<void> => {
  const inUse = (by: string) =>
    new Error(`the directory is in use by process ${by}; if that is not so, remove ${file}`)
  if (held.has(file)) throw inUse(String(process.pid))
  held.add(file)
  try {
    await mkdir(dirname(file), { recursive: true })
    const other = await readFile(file, "utf8").catch(() => "")
    if (isRunning(Number(other))) throw inUse(other)
    await rm(file, { force: true })
    // Of two processes that start at once and both find no holder, one makes the file.
    await writeFile(file, String(process.pid), { flag: "wx" })
  } catch (cause) {
    held.delete(file)
    throw cause
  }
}

const release = async (file: string): Promise<void> => {
  await rm(file, { force: true })
  held.delete(file)
}

/** In a container every start has the same id: one's own says nothing. */
const isRunning = (pid: number): boolean => {
  if (!(pid > 0) || pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // The process is there, and belongs to another user.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}
