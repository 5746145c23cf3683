/**
 * Brings a database to this version: forward only, all or nothing, and safe when several processes
 * start at once, of the same or of different versions. Tables change by numbered migrations;
 * functions are installed beside those of other versions (see `SqlFunction`), and dropped once no
 * process has used them for a month.
 */
import { Clock, Effect } from "effect"
import { AuthorizationError, SqlError } from "effect/sql/SqlError"
import { Database } from "../database/Database.ts"
import type { RunStatement } from "../database/Database.ts"
import { bigint, instant, integer, text, texts } from "../database/Fields.ts"
import { relations } from "../database/Schema.ts"
import { given, statement } from "../database/Statement.ts"
import type { SqlFunction } from "../database/Statement.ts"
import { cannotStart } from "../database/cannotStart.ts"

export interface Migration {
  readonly id: number
  readonly name: string
  /** Statements without parameters, each ended by a semicolon. */
  readonly sql: string
}

/**
 * Serialises migrations among all processes of one schema. In `public` it is this very number, which
 * servers of the versions before take too.
 */
const lock = 7_306_112_025

/** A migration may rewrite a table, or wait for another process that does. */
const patienceMillis = 60 * 60_000

/** How often a process says that it uses its functions, and how long they stay after it last did. */
const noteMillis = 60 * 60_000
const keptMillis = 30 * 24 * 60 * 60_000

const tables = [
  `create table if not exists schema_migrations (
    id integer primary key,
    name text not null,
    applied_at timestamptz not null
  )`,
  // Functions that no process has noted here are those of versions that did not: they stay.
  `create table if not exists function_uses (
    name text primary key,
    used_at timestamptz not null
  )`,
]

const takeLock = statement("migrate", given({ schema: text, lock: bigint }))`
select pg_advisory_xact_lock(
  case when $schema = 'public' then $lock else hashtextextended($schema, $lock) end
)`

const whatIsThere = statement("migrate", given({ schema: text }))`
select
  to_regnamespace($schema) is not null as schema,
  (
    select count(*)
    from pg_catalog.pg_class c
    where c.relnamespace = to_regnamespace($schema)
      and c.relname in ('schema_migrations', 'function_uses')
  ) = 2 as tables`

const installedFunctions = statement("migrate", given({ schema: text }))`
select p.proname::text as name
from pg_catalog.pg_proc p
where p.pronamespace = to_regnamespace($schema)`

const insertMigration = statement("migrate", given({ id: integer, name: text, now: instant }))`
insert into schema_migrations (id, name, applied_at)
values ($id, $name, $now)`

const noteUses = statement("migrate", given({ names: texts, now: instant }))`
insert into function_uses as noted (name, used_at)
select used.name, $now
from unnest($names) used (name)
on conflict (name) do update
set used_at = greatest(noted.used_at, excluded.used_at)`

/** Of functions that another role owns the note stays, and so do they. */
const forgetUses = statement("migrate", given({ before: instant, schema: text }))`
delete from function_uses noted
where noted.used_at < $before
  and not exists (
    select
    from pg_catalog.pg_proc p
    where p.pronamespace = to_regnamespace($schema)
      and p.proname = noted.name
      and not pg_has_role(p.proowner, 'usage')
  )
returning noted.name`

/** What the role may not do and must, each as `INSERT on messages`. */
const missingGrants = statement(
  "migrate",
  given({ schema: text, tables: texts, functions: texts }),
)`
select missing.what, current_user::text as role
from (
  select format('%s on %s', asked.privilege, c.relname) as what
  from pg_catalog.pg_class c
  cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) asked (privilege)
  where c.relnamespace = to_regnamespace($schema)
    and c.relkind = 'r'
    and c.relname = any ($tables)
    and not (c.relname = 'schema_migrations' and asked.privilege <> 'SELECT')
    and not has_table_privilege(c.oid, asked.privilege)
  union all
  select format('USAGE on %s', c.relname)
  from pg_catalog.pg_class c
  where c.relnamespace = to_regnamespace($schema)
    and left(c.relname, -7) = any ($tables)
    -- Asked of sequences alone, in whatever order conditions are looked at.
    and case when c.relkind = 'S' then not has_sequence_privilege(c.oid, 'USAGE') end
  union all
  select format('EXECUTE on %s', p.proname)
  from pg_catalog.pg_proc p
  where p.pronamespace = to_regnamespace($schema)
    and p.proname = any ($functions)
    and not has_function_privilege(p.oid, 'EXECUTE')
) missing
order by missing.what`

/** How many of them a line names. */
const namedGrants = 5

/** As PostgreSQL says it of one of them. */
const grantsMissing = (message: string): SqlError =>
  new SqlError({
    reason: new AuthorizationError({ cause: Object.assign(new Error(message), { code: "42501" }) }),
  })

const checkGrants = Effect.fnUntraced(function* (
  run: RunStatement,
  schema: string,
  functions: ReadonlyArray<SqlFunction>,
) {
  const missing = yield* missingGrants.within<{ readonly what: string; readonly role: string }>(
    run,
    {
      schema,
      tables: relations,
      functions: functions.map(({ name }) => name),
    },
  )
  const [first] = missing
  if (first === undefined) return
  const more = missing.length - namedGrants
  const named = missing.slice(0, namedGrants).map(({ what }) => what)
  return yield* grantsMissing(
    `role "${first.role}" lacks in schema "${schema}": ${named.join(", ")}` +
      (more > 0 ? ` and ${more} more` : ""),
  )
})

/** What is missing of these is made, in a transaction that holds the lock; and their use is noted. */
const install = Effect.fnUntraced(function* (
  run: RunStatement,
  schema: string,
  functions: ReadonlyArray<SqlFunction>,
  now: number,
) {
  const installed = yield* installedFunctions.within<{ name: string }>(run, { schema })
  const present = new Set(installed.map((row) => row.name))
  for (const missing of functions.filter(({ name }) => !present.has(name))) {
    yield* run(missing.create)
  }
  yield* noteUses.within(run, { names: functions.map(({ name }) => name), now })
})

/** Runs a change of the schema, one at a time among all processes. */
export const locked = <A>(
  body: (run: RunStatement, now: number, schema: string) => Effect.Effect<A, SqlError>,
) =>
  Effect.gen(function* () {
    const database = yield* Database
    const now = yield* Clock.currentTimeMillis
    const { schema } = database
    return yield* database.transaction(
      "migrate",
      (run) =>
        Effect.gen(function* () {
          yield* run("set local statement_timeout = 0")
          yield* run("set local idle_in_transaction_session_timeout = 0")
          yield* takeLock.within(run, { schema, lock })
          return yield* body(run, now, schema)
        }),
      { statementMillis: patienceMillis },
    )
  }).pipe(Effect.mapError(({ operation, cause }) => cannotStart(operation, cause)))

/**
 * Everything is made where it is missing, and by a role that may make it: one that finds all in its
 * place needs no more than the grants to work with it.
 */
export const migrate = (
  migrations: ReadonlyArray<Migration>,
  functions: ReadonlyArray<SqlFunction>,
) =>
  locked(
    Effect.fnUntraced(function* (run, now, schema) {
      const [there] = yield* whatIsThere.within<{
        readonly schema: boolean
        readonly tables: boolean
      }>(run, { schema })
      if (there?.schema !== true) yield* run(`create schema if not exists "${schema}"`)
      // Migrations name things as they did before there was a choice of a schema.
      yield* run(`set local search_path = "${schema}"`)
      if (there?.tables !== true) for (const table of tables) yield* run(table)
      const applied = yield* run<{ id: number }>("select id from schema_migrations")
      const done = new Set(applied.map((row) => row.id))
      for (const { id, name, sql } of migrations.filter((one) => !done.has(one.id))) {
        yield* run(`do $migration$ begin ${sql} end $migration$`)
        yield* insertMigration.within(run, { id, name, now })
      }
      yield* install(run, schema, functions, now)
      const unused = yield* forgetUses.within<{ name: string }>(run, {
        before: now - keptMillis,
        schema,
      })
      for (const { name } of unused) yield* run(`drop function if exists "${schema}"."${name}"`)
      yield* checkGrants(run, schema, functions)
    }),
  )

/**
 * For as long as the process runs, says that it uses its functions, so that no start of another
 * version drops them. A process that could not say so for too long makes them again.
 */
export const keepFunctions = (functions: ReadonlyArray<SqlFunction>) =>
  locked((run, now, schema) => install(run, schema, functions, now)).pipe(
    Effect.catchCause((cause) => Effect.logWarning("functions are noted again later", cause)),
    Effect.delay(noteMillis),
    Effect.forever,
  )
