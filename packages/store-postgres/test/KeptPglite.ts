/**
 * Stands in for `@electric-sql/pglite` where many tests want an empty database each
 * (`vitest.config.ts`): starting one takes seconds of work, emptying one that was used before a
 * twentieth of one. A database that cannot be emptied is given up.
 */
import type { PGlite as Database } from "@electric-sql/pglite"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

const installed = join(
  dirname(createRequire(import.meta.url).resolve("@electric-sql/pglite")),
  "index.js",
)

/** Databases of this process that are empty and in no use; test files come and go meanwhile. */
const free: Array<Database> = ((globalThis as { freePglites?: Array<Database> }).freePglites ??= [])

const start = async (dataDir: string): Promise<Database> => {
  const { PGlite } = await import(/* @vite-ignore */ pathToFileURL(installed).href)
  return PGlite.create(dataDir)
}

/** The tables stay, with the list of the migrations that made them, and the shards that one of them wrote. */
const empty = async (database: Database): Promise<void> => {
  if (database.isInTransaction()) await database.exec("rollback")
  await database.exec("discard all")
  const { rows } = await database.query<{ readonly names: string }>(`
    select string_agg(format('%I.%I', schemaname, tablename), ', ') as names
    from pg_tables
    where schemaname in ('public', 'messaging') and tablename <> 'schema_migrations'`)
  await database.exec(`
    begin;
    create temporary table kept_shards on commit drop as
    select shard from messaging.number_shards;
    truncate ${rows[0]!.names} restart identity cascade;
    insert into messaging.number_shards (shard, term)
    select shard, 0 from kept_shards;
    commit;`)
}

export const PGlite = {
  create: async (dataDir: string): Promise<Database> => {
    if (!dataDir.startsWith("memory:")) return start(dataDir)
    const database = free.pop() ?? (await start(dataDir))
    const close = Object.getPrototypeOf(database).close.bind(database)
    database.close = () =>
      empty(database).then(
        () => void free.push(database),
        () => close(),
      )
    return database
  },
}
