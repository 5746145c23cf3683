/** Databases for tests: of one server for each test file, every one empty. */
import { EmbeddedPostgres, processes, putEmbeddedDatabase } from "@messaging-service/testkit"
import type { TestDatabase } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Pool } from "pg"
import { layer } from "../src/index.ts"
import { Database } from "../src/database/Database.ts"
import type { DatabaseOptions } from "../src/database/Connection.ts"

export const aDatabase = Effect.flatMap(EmbeddedPostgres, (postgres) => postgres.createDatabase())

/** One on which nothing is found by its name alone: the service says where everything is. */
export const aBareDatabase = Effect.flatMap(EmbeddedPostgres, (postgres) =>
  postgres.createDatabase("template0", ["pg_catalog"]),
)

export const toOptions = ({ database, path, username }: TestDatabase): DatabaseOptions => ({
  database,
  path,
  username,
})

/** One that holds all tables where the server has them ready. */
export const aMigratedDatabase = (searchPath?: ReadonlyArray<string>) =>
  Effect.flatMap(EmbeddedPostgres, (postgres) =>
    postgres.createDatabase(postgres.migrated, searchPath),
  )

/** The directory of an embedded database in which nothing was ever made. */
export const anEmbeddedDatabase = Effect.gen(function* () {
  const dataDir = join(yield* processes.temporaryDirectory, "database")
  yield* putEmbeddedDatabase(
    createRequire(import.meta.url).resolve("@electric-sql/pglite"),
    dataDir,
  )
  return dataDir
})

/** A pool as a host has one, with these settings of PostgreSQL. */
export const aPool = (
  { database, path, username }: TestDatabase,
  settings: Readonly<Record<string, string>> = {},
) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const options = Object.entries(settings)
        .map(([setting, value]) => `-c ${setting}=${value}`)
        .join(" ")
      const pool = new Pool({ host: dirname(path), user: username, database, options })
      pool.on("error", () => undefined)
      return pool
    }),
    (pool) => Effect.promise(() => pool.end()),
  )

export type Stores = Layer.Success<ReturnType<typeof layer>>

/** Everything that stores keep, on a database of its own. */
export const storesOfOneTest = Layer.unwrap(
  Effect.map(aMigratedDatabase(["pg_catalog"]), (database) => layer(toOptions(database))),
)

/** The stores of one process on that database, for as long as the scope is open. */
export const aProcess = (database: TestDatabase, options: Partial<DatabaseOptions> = {}) =>
  Layer.build(layer({ ...toOptions(database), ...options }))

/** A door to the database for what a test does behind the stores' backs. */
export const aDatabaseClient = (database: TestDatabase, options: Partial<DatabaseOptions> = {}) =>
  Effect.map(Layer.build(Database.layer({ ...toOptions(database), ...options })), (built) =>
    Context.get(built, Database),
  )
