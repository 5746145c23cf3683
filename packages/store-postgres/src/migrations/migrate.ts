/**
 * Brings a database to this version: forward only, all or nothing, and safe when several processes
 * start at once, of the same or of different versions. Tables change by numbered migrations;
 * functions are installed beside those of other versions (see `SqlFunction`), and dropped once no
 * process has used them for a month.
 */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { Database } from "../database/Database.ts"
import type { RunStatement } from "../database/Database.ts"
import { instant, integer, text, texts } from "../database/Fields.ts"
import { given, statement } from "../database/Statement.ts"
import type { SqlFunction } from "../database/Statement.ts"

export interface Migration {
  readonly id: number
  readonly name: string
  /** Statements without parameters, each ended by a semicolon. */
  readonly sql: string
}

/** Serialises migrations among all processes; no other lock of the service has this number. */
const lock = 7_306_112_025n

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

const insertMigration = statement("migrate", given({ id: integer, name: text, now: instant }))`
insert into schema_migrations (id, name, applied_at)
values ($id, $name, $now)`

const noteUses = statement("migrate", given({ names: texts, now: instant }))`
insert into function_uses as noted (name, used_at)
select used.name, $now
from unnest($names) used (name)
on conflict (name) do update
set used_at = greatest(noted.used_at, excluded.used_at)`

const forgetUses = statement("migrate", given({ before: instant }))`
delete from function_uses
where used_at < $before
returning name`

/** What is missing of these is made, in a transaction that holds the lock; and their use is noted. */
const install = Effect.fnUntraced(function* (
  run: RunStatement,
  functions: ReadonlyArray<SqlFunction>,
  now: number,
) {
  const installed = yield* run<{ name: string }>(
    `select proname::text as name
     from pg_proc
     where pronamespace = current_schema()::regnamespace`,
  )
  const present = new Set(installed.map((row) => row.name))
  for (const missing of functions.filter(({ name }) => !present.has(name))) {
    yield* run(missing.create)
  }
  yield* noteUses.within(run, { names: functions.map(({ name }) => name), now })
})

const locked = <A>(body: (run: RunStatement, now: number) => Effect.Effect<A, SqlError>) =>
  Effect.gen(function* () {
    const database = yield* Database
    const now = yield* Clock.currentTimeMillis
    return yield* database.transaction(
      "migrate",
      (run) =>
        Effect.gen(function* () {
          yield* run("set local statement_timeout = 0")
          yield* run("set local idle_in_transaction_session_timeout = 0")
          yield* run("select pg_advisory_xact_lock($1)", [lock])
          return yield* body(run, now)
        }),
      { statementMillis: patienceMillis },
    )
  })

export const migrate = (
  migrations: ReadonlyArray<Migration>,
  functions: ReadonlyArray<SqlFunction>,
) =>
  locked(
    Effect.fnUntraced(function* (run, now) {
      for (const table of tables) yield* run(table)
      const applied = yield* run<{ id: number }>("select id from schema_migrations")
      const done = new Set(applied.map((row) => row.id))
      for (const { id, name, sql } of migrations.filter((one) => !done.has(one.id))) {
        yield* run(`do $migration$ begin ${sql} end $migration$`)
        yield* insertMigration.within(run, { id, name, now })
      }
      yield* install(run, functions, now)
      const unused = yield* forgetUses.within<{ name: string }>(run, {
        before: now - keptMillis,
      })
      for (const { name } of unused) yield* run(`drop function if exists "${name}"`)
    }),
  )

/**
 * For as long as the process runs, says that it uses its functions, so that no start of another
 * version drops them. A process that could not say so for too long makes them again.
 */
export const keepFunctions = (functions: ReadonlyArray<SqlFunction>) =>
  locked((run, now) => install(run, functions, now)).pipe(
    Effect.catchCause((cause) => Effect.logWarning("functions are noted again later", cause)),
    Effect.delay(noteMillis),
    Effect.forever,
  )
