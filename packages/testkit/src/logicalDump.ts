/**
 * The contents of a database's tables as text, for tests of erasure and retention. Pages of deleted
 * rows are excluded.
 */
import { PgConnection } from "@effect/sql-pg"
import { Clock, Effect } from "effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import type { TestDatabase } from "./EmbeddedPostgres.ts"

/** The rows of each table, with every column in PostgreSQL's text format. */
export type LogicalDump = ReadonlyMap<string, ReadonlyArray<string>>

/** Runs a text; returns its rows, by column name. */
type Run = (text: string) => Effect.Effect<ReadonlyArray<Readonly<Record<string, string>>>>

const allTables = `
select n.nspname::text as schema, c.relname::text as name
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'm')
  and n.nspname <> 'information_schema'
  and n.nspname not like 'pg\\_%'
order by c.relname`

/** The contents of a database's tables, and their size without free pages. */
export interface TableSizes {
  readonly rows: ReadonlyMap<string, number>
  readonly bytes: number
}

const sizes = (run: Run): Effect.Effect<TableSizes> =>
  Effect.gen(function* () {
    const rows = new Map<string, number>()
    let bytes = 0
    for (const { name = "", schema = "" } of yield* run(allTables)) {
      const table = `"${schema}"."${name}"`
      // The size of free pages depends on when autovacuum ran.
      yield* run(`vacuum full ${table}`)
      const [found] = yield* run(
        `select count(*)::text as rows, pg_total_relation_size('${table}')::text as bytes from ${table}`,
      )
      rows.set(name, Number(found?.["rows"]))
      bytes += Number(found?.["bytes"])
    }
    return { rows, bytes }
  })

const dump = (run: Run): Effect.Effect<LogicalDump> =>
  Effect.gen(function* () {
    const found = new Map<string, ReadonlyArray<string>>()
    for (const { name = "", schema = "" } of yield* run(allTables)) {
      const rows = yield* run(`select one::text as row from "${schema}"."${name}" one`)
      found.set(
        name,
        rows.map(({ row = "" }) => row),
      )
    }
    return found
  })

const inDatabase = <A>(
  { database, path, username }: TestDatabase,
  check: (run: Run) => Effect.Effect<A>,
) =>
  Effect.gen(function* () {
    const connection = yield* PgConnection.make({ database, path, username })
    return yield* check((text) =>
      Effect.map(
        Effect.orDie(connection.query(text, [], false)),
        ({ rows }) => rows as ReadonlyArray<Readonly<Record<string, string>>>,
      ),
    )
  }).pipe(
    Effect.scoped,
    Effect.orDie,
    // A test's clock must not govern how long the server takes.
    Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()),
  )

/** The used part of PGlite. */
interface Embedded {
  readonly create: (directory: string) => Promise<{
    readonly query: (
      text: string,
    ) => Promise<{ readonly rows: ReadonlyArray<Readonly<Record<string, string>>> }>
    readonly close: () => Promise<void>
  }>
}

/** Of a database of a cluster. */
export const dumpDatabase = (database: TestDatabase) => inDatabase(database, dump)
export const sizesOfDatabase = (database: TestDatabase) => inDatabase(database, sizes)

/**
 * Of the embedded database in that data directory. Its service is stopped. The package of that
 * manifest depends on PGlite.
 */
const inDataDirectory = <A>(
  manifest: string,
  directory: string,
  check: (run: Run) => Effect.Effect<A>,
) =>
  Effect.gen(function* () {
    const installed = dirname(createRequire(manifest).resolve("@electric-sql/pglite"))
    const { PGlite } = yield* Effect.promise(
      (): Promise<{ readonly PGlite: Embedded }> =>
        import(pathToFileURL(join(installed, "index.js")).href),
    )
    const database = yield* Effect.acquireRelease(
      Effect.promise(() => PGlite.create(join(directory, "db"))),
      (opened) => Effect.promise(() => opened.close()),
    )
    return yield* check((text) =>
      Effect.map(
        Effect.promise(() => database.query(text)),
        ({ rows }) => rows,
      ),
    )
  }).pipe(Effect.scoped)

export const sizesOfDataDirectory = (manifest: string, directory: string) =>
  inDataDirectory(manifest, directory, sizes)

/** The tables that hold one of these words, in any case. */
export const tablesWith = (dumped: LogicalDump, words: Iterable<string>): ReadonlyArray<string> => {
  const expected = Array.from(words, (word) => word.toLowerCase())
  return Array.from(dumped).flatMap(([table, rows]) => {
    const found = rows.flatMap((row) => expected.filter((word) => row.toLowerCase().includes(word)))
    return found.length === 0 ? [] : `${table}: ${[...new Set(found)].toSorted().join(", ")}`
  })
}
