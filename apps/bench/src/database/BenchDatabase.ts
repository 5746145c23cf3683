/**
 * A database of the benchmark's cluster, with connections of node-postgres to load it, to look into
 * it, and to run what is compared with the service.
 */
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect } from "effect"
import { dirname } from "node:path"
import { Pool } from "pg"
import type { PoolConfig } from "pg"

export interface BenchDatabase extends TestDatabase {
  /** Runs a statement; rows as they come. */
  query(text: string, values?: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<Values>>
  /** The one number that a statement answers with. */
  count(text: string, values?: ReadonlyArray<unknown>): Effect.Effect<number>
}

export type Values = Readonly<Record<string, unknown>>

/** How node-postgres, and what is built on it, connects. */
export const poolConfig = ({ database, path, username }: TestDatabase): PoolConfig => ({
  host: dirname(path),
  port: 5432,
  user: username,
  database,
})

export const openPool = (database: TestDatabase, settings: PoolConfig) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pool({ ...poolConfig(database), ...settings })
      // A connection that breaks fails the statement that runs on it, if there is one.
      pool.on("error", () => undefined)
      pool.on("connect", (client) => client.on("error", () => undefined))
      return pool
    }),
    (pool) => Effect.promise(() => pool.end()),
  )

export const openDatabase = Effect.fnUntraced(function* openDatabase(database: TestDatabase) {
  const pool = yield* openPool(database, { max: 2 })
  const query = (text: string, values: ReadonlyArray<unknown> = []) =>
    Effect.map(
      Effect.promise(() => pool.query<Values>(text, [...values])),
      ({ rows }) => rows,
    )
  const opened: BenchDatabase = {
    ...database,
    query,
    count: (text, values) =>
      Effect.map(query(text, values), ([row]) => Number(Object.values(row ?? {})[0] ?? 0)),
  }
  return opened
})
