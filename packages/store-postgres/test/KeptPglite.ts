/**
 * Stands in for `@electric-sql/pglite` where many tests want an empty database each
 * (`vitest.config.ts`): making one takes seconds of work, loading one half of one, emptying one that was
 * used before a twentieth. A database that cannot be emptied is given up.
 */
import type { PGlite as Database } from "@electric-sql/pglite"
import { embeddedDump } from "@messaging-service/testkit"
import { Effect } from "effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

const resolved = createRequire(import.meta.url).resolve("@electric-sql/pglite")
const installed = join(dirname(resolved), "index.js")

/** Databases of this process that are empty and in no use; test files come and go meanwhile. */
const free: Array<Database> = ((globalThis as { freePglites?: Array<Database> }).freePglites ??= [])

const real = await import(/* @vite-ignore */ pathToFileURL(installed).href)

/** What else tests take from the package. */
export const messages = real.messages

const start = async (dataDir: string): Promise<Database> =>
  real.PGlite.create(
    dataDir.startsWith("memory:")
      ? { dataDir, loadDataDir: await Effect.runPromise(embeddedDump(resolved)) }
      : dataDir,
  )

interface Names {
  readonly name: string
}

/**
 * The tables stay, with the list of the migrations that made them, and the shards that one of them wrote.
 * Most tables of a test are empty, and of full ones few rows are left: to truncate all takes many times
 * as long as to look for rows and delete them.
 */
const empty = async (database: Database): Promise<void> => {
  if (database.isInTransaction()) await database.exec("rollback")
  await database.exec("discard all")
  const tables = await database.query<Names>(`
    select format('%I.%I', schemaname, tablename) as name
    from pg_tables
    where schemaname in ('public', 'messaging')
      and tablename not in ('schema_migrations', 'number_shards')`)
  const full = await database.query<Names>(
    tables.rows
      .map(({ name }) => `select '${name}' as name where exists (select from ${name})`)
      .join(" union all "),
  )
  await database.exec(`
    begin;
    set local session_replication_role = replica;
    ${full.rows.map(({ name }) => `delete from ${name};`).join("\n")}
    create temporary table kept_shards on commit drop as
    select shard from messaging.number_shards
    where term <> 0;
    delete from messaging.number_shards
    where term <> 0;
    insert into messaging.number_shards (shard, term)
    select shard, 0 from kept_shards;
    select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    from pg_sequences
    where last_value is not null;
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
