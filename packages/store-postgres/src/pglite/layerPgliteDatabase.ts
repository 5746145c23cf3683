/** The `Database` on an embedded PGlite, for a single process that needs no server. */
import type { PGlite } from "@electric-sql/pglite"
import { StoreUnavailable } from "@messaging-service/core/ports"
import { Effect, Layer } from "effect"
import { access, mkdir, open as openFile, rm, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { planning } from "../database/Connection.ts"
import { Database, fromConnections, ownConnections } from "../database/Database.ts"
import { lockDirectory } from "./DirectoryLock.ts"
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

/** A database, and whether its backend has ended, after which it must not even be closed. */
interface Opened {
  readonly database: PGlite
  isDead: boolean
}

const open = (options: PgliteOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async (): Promise<Opened> => {
        // Loaded where it is used: it is half of what this package weighs.
        const { DurableNodeFS, openDurable, syncTree } = await import("./DurablePglite.ts")
        const { dataDir } = options
        const made = dataDir === undefined ? undefined : await beginMaking(dataDir)
        let opened: Opened | undefined
        const onDeath = () => {
          if (opened !== undefined) opened.isDead = true
        }
        const files = dataDir === undefined ? undefined : new DurableNodeFS(dataDir)
        const database = await openDurable({ files, onDeath })
        opened = { database, isDead: false }
        if (dataDir !== undefined && made !== undefined) {
          await syncTree(resolve(dataDir))
          await made()
        }
        const settings = Object.entries(planning).map(([name, value]) => `set ${name} = ${value}`)
        await database.exec([...settings, "set timezone = 'UTC'"].join(";"))
        return opened
      },
      catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
    }),
    ({ database, isDead }) => (isDead ? Effect.void : Effect.promise(() => database.close())),
  )

export const layerPgliteDatabase = (options: PgliteOptions) =>
  Layer.effect(
    Database,
    Effect.gen(function* () {
      yield* locked(options)
      const opened = yield* open(options)
      const pool = yield* ownConnections(
        {
          stream: new PgliteServer(opened.database).connect,
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
 * what to do once it is made, unless it was there.
 */
const beginMaking = async (dataDir: string): Promise<(() => Promise<void>) | undefined> => {
  const directory = resolve(dataDir)
  const marker = `${directory}.making`
  if (await exists(marker)) await rm(directory, { recursive: true, force: true })
  else if (await exists(join(directory, "PG_VERSION"))) return undefined
  await mkdir(dirname(marker), { recursive: true })
  await writeFile(marker, "")
  await keepEntries(dirname(marker))
  return async () => {
    await rm(marker)
    await keepEntries(dirname(marker))
  }
}
