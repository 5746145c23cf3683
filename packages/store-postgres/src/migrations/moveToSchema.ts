/**
 * Moves what a version before made in `public` into a schema of its own. It is asked for, and never
 * happens at a start: servers of the version before look for their tables in `public`, so all must have
 * been stopped. Nothing is copied; all moves, or nothing.
 */
import { Effect } from "effect"
import { UnknownError, SqlError } from "effect/sql/SqlError"
import { applicationName } from "../database/Connection.ts"
import { text, texts } from "../database/Fields.ts"
import { relations } from "../database/Schema.ts"
import { given, statement } from "../database/Statement.ts"
import { locked } from "./migrate.ts"

const formerSchema = "public"

const tablesIn = statement("move", given({ schema: text, names: texts }))`
select c.relname::text as name
from pg_catalog.pg_class c
where c.relnamespace = to_regnamespace($schema)
  and c.relkind = 'r'
  and c.relname = any ($names)`

const namedFunctions = statement("move", given({ schema: text, names: texts }))`
select p.proname::text as name
from pg_catalog.pg_proc p
where p.pronamespace = to_regnamespace($schema)
  and p.proname = any ($names)`

/** Processes of the service that may be at work there, but for the one connection that moves. */
const othersAtWork = statement("move", given({ application: text }))`
select count(*)::integer as count
from pg_catalog.pg_stat_activity a
where a.datname = current_database()
  and a.application_name = $application
  and a.pid <> pg_backend_pid()`

/** What a function of the version before says finds nothing in the new schema: each start makes its own. */
const formerFunctions = statement("move", given({ schema: text }))`
select p.proname::text as name
from pg_catalog.pg_proc p
where p.pronamespace = to_regnamespace($schema)
  and p.proname in (select noted.name from "public"."function_uses" noted)`

/** Those that an earlier version may not have yet are moved where they are there. */
const triggerFunctions = ["refuse_plain_secret", "finish_arrivals"]

const cannotMove = (message: string): SqlError =>
  new SqlError({ reason: new UnknownError({ cause: new Error(message) }) })

/** Whether there was something to move. Fails when processes of the service are still at work. */
export const moveTables = locked(
  Effect.fnUntraced(function* (run, _, schema) {
    if (schema === formerSchema) {
      return yield* cannotMove(`"${formerSchema}" is where the tables are to be moved from`)
    }
    const namesIn = (of: string) =>
      Effect.map(
        tablesIn.within<{ readonly name: string }>(run, { schema: of, names: relations }),
        (rows) => rows.map(({ name }) => name),
      )
    const former = new Set(yield* namesIn(formerSchema))
    // A name alone may be another program's.
    const markers = ["schema_migrations", "function_uses", "lanes", "idempotency_claims"]
    if (!markers.every((name) => former.has(name))) return false
    if ((yield* namesIn(schema)).length > 0) {
      return yield* cannotMove(`the schema "${schema}" has tables of the service already`)
    }
    const [others] = yield* othersAtWork.within<{ readonly count: number }>(run, {
      application: applicationName,
    })
    if ((others?.count ?? 0) > 0) {
      return yield* cannotMove(
        `${others?.count} connections of the service are open: stop its processes first`,
      )
    }
    yield* run("set local lock_timeout = '10s'")
    yield* run(`create schema if not exists "${schema}"`)
    const functions = yield* formerFunctions.within<{ readonly name: string }>(run, {
      schema: formerSchema,
    })
    for (const { name } of functions) yield* run(`drop function "${formerSchema}"."${name}"`)
    const triggers = yield* namedFunctions.within<{ readonly name: string }>(run, {
      schema: formerSchema,
      names: triggerFunctions,
    })
    for (const { name } of triggers) {
      yield* run(`alter function "${formerSchema}"."${name}" set schema "${schema}"`)
    }
    for (const name of former) {
      yield* run(`alter table "${formerSchema}"."${name}" set schema "${schema}"`)
    }
    return true
  }),
)
