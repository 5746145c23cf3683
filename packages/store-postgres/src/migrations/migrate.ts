/**
 * Brings a database to this version: forward only, all or nothing, and safe when several processes
 * start at once, of the same or of different versions. Tables change by numbered migrations;
 * functions are installed beside those of other versions (see `SqlFunction`).
 */
import { Clock, Effect } from "effect"
import { Database } from "../database/Database.ts"
import { instant, integer, text } from "../database/parameters.ts"
import type { SqlFunction } from "../database/SqlFunction.ts"

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

export const migrate = (
  migrations: ReadonlyArray<Migration>,
  functions: ReadonlyArray<SqlFunction>,
) =>
  Effect.gen(function* () {
    const database = yield* Database
    const now = yield* Clock.currentTimeMillis
    yield* database.transaction(
      "migrate",
      Effect.fnUntraced(function* (run) {
        yield* run("set local statement_timeout = 0")
        yield* run("set local idle_in_transaction_session_timeout = 0")
        yield* run("select pg_advisory_xact_lock($1)", [lock])
        yield* run(`
          create table if not exists schema_migrations (
            id integer primary key,
            name text not null,
            applied_at timestamptz not null
          )`)
        const applied = yield* run<{ id: number }>("select id from schema_migrations")
        const done = new Set(applied.map((row) => row.id))
        for (const migration of migrations.filter(({ id }) => !done.has(id))) {
          yield* run(`do $migration$ begin ${migration.sql} end $migration$`)
          yield* run("insert into schema_migrations (id, name, applied_at) values ($1, $2, $3)", [
            integer(migration.id),
            text(migration.name),
            instant(now),
          ])
        }
        const installed = yield* run<{ name: string }>(
          `select proname::text as name
           from pg_proc
           where pronamespace = current_schema()::regnamespace`,
        )
        const present = new Set(installed.map((row) => row.name))
        for (const missing of functions.filter(({ name }) => !present.has(name))) {
          yield* run(missing.create)
        }
      }),
      { statementMillis: patienceMillis },
    )
  })
