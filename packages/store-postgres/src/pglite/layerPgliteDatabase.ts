/** The `Database` on an embedded PGlite, for a single process that needs no server. */
import { StoreUnavailable } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database, fromConnections, planning } from "../database/Database.ts"
import { lockDirectory } from "./directoryLock.ts"
import { PgliteServer } from "./PgliteServer.ts"

export interface PgliteOptions {
  /** Where it keeps its files; in memory without one. One process at a time may use a directory. */
  readonly dataDir?: string
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
        const opened = await PGlite.create(options.dataDir ?? "memory://")
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
    Effect.flatMap(Effect.andThen(locked(options), open(options)), (opened) =>
      fromConnections(
        {
          stream: new PgliteServer(opened).connect,
          username: "postgres",
          database: "postgres",
          prepare: false,
        },
        // A statement under way there cannot be called off: it is waited for like any other.
        { maxConnections, acquireMillis, statementMillis, listMillis: statementMillis },
      ),
    ),
  )
