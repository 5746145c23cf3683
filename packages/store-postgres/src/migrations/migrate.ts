/**
 * Brings a database to this version, forward only. Several processes of the same or of different versions
 * may start at once while others work. A new database gets `schema.sql`; one that exists gets the
 * migrations that it lacks, one transaction each. Then the build's functions are installed
 * (`installBuild.ts`).
 */
import { version } from "@messaging-service/core"
import { Clock, Effect, Option } from "effect"
import { AuthorizationError, SqlError, UnknownError } from "effect/sql/SqlError"
import { codeSchema, thisBuild } from "../database/build.ts"
import type { Build } from "../database/build.ts"
import { cannotStart, Database, inRealTime } from "../database/Database.ts"
import type { RunStatement } from "../database/Database.ts"
import { isLockTimeout } from "../database/HostPool.ts"
import { relations } from "../database/Schema.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"
import { dropOlderBuilds, dropUnusedBuilds, installBuild } from "./installBuild.ts"

/** A change of the tables of databases that exist. */
export interface Migration {
  /** From 2 on: the first is `schema.sql` as it was first released. */
  readonly id: number
  readonly name: string
  /**
   * Statements of one transaction, each ended by a semicolon; the first takes all locks. Or
   * one `create index concurrently` or `drop index concurrently`.
   */
  readonly sql: string
  /** A process that does not know the migration of this id must not start any more; null while all may. */
  readonly oldest: number | null
}

export interface Schema {
  /** Everything that a new database gets, what migrations change included. */
  readonly sql: string
  readonly migrations: ReadonlyArray<Migration>
}

const firstId = 1

/** The latest that processes of this version know. */
const latestId = ({ migrations }: Schema): number => migrations.at(-1)?.id ?? firstId

/** One advisory lock for each schema: one process at a time changes tables and functions. */
const lock = 7_306_112_025

/**
 * How often a process tries to get that lock. It must not wait inside a statement: `create index concurrently`
 * of the process that has the lock waits for the snapshots of all statements.
 */
const pollMillis = 50

/** A migration may read through a large table, or wait for another process to do so. */
const maxWaitMillis = 60 * 60_000

/**
 * Statements queue behind a migration that waits for a table lock. So it gives up soon, lets them pass and
 * tries again. At first it waits for less than `deadlock_timeout`, so that no statement is the victim of a
 * deadlock; then longer, since an autovacuum gives way only after a second.
 */
const lockTimeoutMillis = (tries: number): number => Math.min(200 * 2 ** tries, 3_000)
const pauseMillis = (tries: number): number => Math.min(200 * 2 ** tries, 5_000)
const maxTries = 60

/** How often a process says that it uses its build. */
const noteMillis = 60 * 60_000

const tryLock = statement("migration.tryLock")
const trySessionLock = statement("migration.trySessionLock")
const releaseSessionLock = statement("migration.releaseSessionLock")
const schemaState = statement("migration.schemaState")
const appliedMigrations = statement("migration.appliedMigrations")
const insertMigration = statement("migration.insertMigration")
const indexState = statement("migration.indexState")
const missingGrants = statement("migration.missingGrants")

type Applied = Row<"migration.appliedMigrations">

/** How many of them a line names. */
const namedGrants = 5

/** As PostgreSQL says it of one of them. */
const grantsMissing = (message: string): SqlError =>
  new SqlError({
    reason: new AuthorizationError({ cause: Object.assign(new Error(message), { code: "42501" }) }),
  })

const checkGrants = Effect.fnUntraced(function* (run: RunStatement, schema: string, build: Build) {
  const missing = yield* missingGrants.in(run, {
    schema,
    tables: relations,
    code: codeSchema(schema, build),
  })
  const [first] = missing
  if (first === undefined) return
  const more = missing.length - namedGrants
  const named = missing.slice(0, namedGrants).map(({ what }) => what)
  return yield* grantsMissing(
    `role "${first.role}" lacks for schema "${schema}": ${named.join(", ")}` +
      (more > 0 ? ` and ${more} more` : ""),
  )
})

/** What one process at a time does. */
type Body<A> = (run: RunStatement, now: number, schema: string) => Effect.Effect<A, SqlError>

const failed = (message: string): SqlError =>
  new SqlError({ reason: new UnknownError({ cause: new Error(message) }) })

/** Repeats an attempt until it gets the lock. */
const pollForLock = <A, E, R>(attempt: Effect.Effect<Option.Option<A>, E, R>) =>
  Effect.gen(function* () {
    for (let waited = 0; waited < maxWaitMillis; waited += pollMillis) {
      const done = yield* attempt
      if (Option.isSome(done)) return done.value
      yield* inRealTime(Effect.sleep(pollMillis))
    }
    return yield* cannotStart(
      "migrate",
      new Error("another process changes the schema for too long"),
    )
  })

/** In one transaction, which holds the lock. */
const inLockedTransaction = <A>(body: Body<A>) =>
  Effect.gen(function* () {
    const database = yield* Database
    const now = yield* Clock.currentTimeMillis
    const { schema } = database
    const attempt = database.transaction(
      "migrate",
      (run) =>
        Effect.gen(function* () {
          yield* run("set local statement_timeout = 0")
          yield* run("set local idle_in_transaction_session_timeout = 0")
          yield* run(`set local search_path = "${schema}", pg_temp`)
          const [taken] = yield* tryLock.in(run, { schema, lock })
          return taken?.done === true
            ? Option.some(yield* body(run, now, schema))
            : Option.none<A>()
        }),
      { statementMillis: maxWaitMillis },
    )
    return yield* pollForLock(attempt)
  })

/** On one connection, which holds the lock; each statement is a transaction. */
const inLockedSession = <A>(body: Body<A>) =>
  Effect.gen(function* () {
    const database = yield* Database
    const now = yield* Clock.currentTimeMillis
    const { schema } = database
    const taken = (run: RunStatement) =>
      Effect.gen(function* () {
        yield* run("set statement_timeout = 0")
        yield* run(`set search_path = "${schema}", pg_temp`)
        return yield* body(run, now, schema)
      }).pipe(
        Effect.ensuring(Effect.ignore(releaseSessionLock.in(run, { schema, lock }))),
        Effect.ensuring(Effect.ignore(run("reset search_path"))),
        Effect.ensuring(Effect.ignore(run("reset statement_timeout"))),
      )
    const attempt = database.session(
      "migrate",
      (run) =>
        Effect.gen(function* () {
          const [row] = yield* trySessionLock.in(run, {
            schema,
            lock,
          })
          return row?.done === true ? Option.some(yield* taken(run)) : Option.none<A>()
        }),
      { statementMillis: maxWaitMillis },
    )
    return yield* pollForLock(attempt)
  })

const record = (run: RunStatement, { id, name, oldest }: Omit<Migration, "sql">, now: number) =>
  insertMigration.in(run, { id, name, now, version, oldest })

const isApplied = (run: RunStatement, { id }: Migration) =>
  Effect.map(appliedMigrations.in(run, {}), (applied) => applied.some((one) => one.id === id))

/** `schema.sql` includes what all migrations change. */
const makeTables = Effect.fnUntraced(function* (
  run: RunStatement,
  { migrations, sql }: Schema,
  now: number,
) {
  yield* run(`do $sql$ begin ${sql} end $sql$`)
  yield* record(run, { id: firstId, name: "schema", oldest: null }, now)
  for (const migration of migrations) yield* record(run, migration, now)
})

/** Fails where a later version has made changes that this one cannot work with. */
const refuseNewer = (applied: ReadonlyArray<Applied>, requested: Schema, schema: string) => {
  const latest = latestId(requested)
  const tooNew = applied.findLast(({ oldest }) => oldest !== null && oldest > latest)
  return tooNew === undefined
    ? Effect.void
    : Effect.fail(
        failed(
          `version ${tooNew.version} has upgraded the schema "${schema}" (migration ${tooNew.id}, ${tooNew.name}); older ones such as this, ${version}, cannot work with it`,
        ),
      )
}

/**
 * What is there, before anything is made. Fails where a start cannot work with it, or may not make what is
 * missing; changes nothing. No `applied`: no tables.
 */
export const examineSchema = Effect.fnUntraced(function* (
  run: RunStatement,
  schema: string,
  requested: Schema,
  build: Build = thisBuild,
) {
  yield* checkGrants(run, schema, build)
  const [found] = yield* schemaState.in(run, { schema })
  const applied = found?.tables === true ? yield* appliedMigrations.in(run, {}) : null
  if (applied !== null) yield* refuseNewer(applied, requested, schema)
  return { hasSchema: found?.schema === true, applied }
})

/** The next migration that the database lacks. Null: it lacks none, the functions are installed too. */
const prepare = (requested: Schema, build: Build) =>
  inLockedTransaction(
    Effect.fnUntraced(function* (run, now, schema): Effect.fn.Return<Migration | null, SqlError> {
      const { applied, hasSchema } = yield* examineSchema(run, schema, requested, build)
      if (!hasSchema) yield* run(`create schema if not exists "${schema}"`)
      if (applied === null) {
        yield* makeTables(run, requested, now)
      } else {
        const missing = requested.migrations.find(({ id }) => !applied.some((one) => one.id === id))
        if (missing !== undefined) return missing
      }
      yield* installBuild(run, schema, build, latestId(requested), now)
      yield* dropUnusedBuilds(run, now)
      return null
    }),
  )

const applyInTransaction = (migration: Migration, lockTimeout: number) =>
  inLockedTransaction(
    Effect.fnUntraced(function* (run, now) {
      if (yield* isApplied(run, migration)) return
      yield* run(`set local lock_timeout = ${lockTimeout}`)
      if (migration.oldest !== null) yield* dropOlderBuilds(run, migration.oldest)
      yield* run(`do $sql$ begin ${migration.sql} end $sql$`)
      yield* record(run, migration, now)
    }),
  )

/** A statement that no transaction can hold. */
const concurrently = /^\s*(create|drop) index concurrently (?:if (?:not )?exists )?(\w+)/

/** Waits for transactions and blocks none. Drops first what an earlier, interrupted try left. */
const applyConcurrently = (migration: Migration, index: string, isCreated: boolean) =>
  inLockedSession(
    Effect.fnUntraced(function* (run, now, schema) {
      if (yield* isApplied(run, migration)) return
      const [left] = yield* indexState.in(run, {
        schema,
        name: index,
      })
      if (left?.valid === false) yield* run(`drop index concurrently "${index}"`)
      if ((left?.valid === true) !== isCreated) yield* run(migration.sql)
      yield* record(run, migration, now)
    }),
  )

/** Gives way to transactions that hold the tables, and tries again. */
const apply = (migration: Migration) =>
  Effect.gen(function* () {
    const [, verb, index] = concurrently.exec(migration.sql) ?? []
    if (index !== undefined) return yield* applyConcurrently(migration, index, verb === "create")
    for (let tries = 0; ; tries++) {
      const done = yield* applyInTransaction(migration, lockTimeoutMillis(tries)).pipe(
        Effect.as(true),
        Effect.catchIf(
          ({ cause }) => tries < maxTries && isLockTimeout(cause),
          () => Effect.succeed(false),
        ),
      )
      if (done) return
      yield* Effect.logInfo(`migration ${migration.name} waits for locks that transactions hold`)
      yield* inRealTime(Effect.sleep(pauseMillis(tries)))
    }
  })

/**
 * Makes what is missing, for which the role must have the right. A role that finds everything needs only the
 * grants to work with it.
 */
export const migrate = (requested: Schema, build: Build = thisBuild) =>
  Effect.gen(function* () {
    for (;;) {
      const missing = yield* prepare(requested, build)
      if (missing === null) return
      yield* apply(missing)
    }
  }).pipe(Effect.mapError(({ cause, operation }) => cannotStart(operation, cause)))

/**
 * For as long as the process runs, says that it uses its build, so that no start of another build drops
 * it. A process that could not say so for too long makes it again.
 */
export const keepBuild = (known: Schema, build: Build = thisBuild) =>
  inLockedTransaction((run, now, schema) =>
    installBuild(run, schema, build, latestId(known), now),
  ).pipe(
    Effect.catchCause((cause) => Effect.logWarning("build is noted again later", cause)),
    Effect.delay(noteMillis),
    Effect.forever,
  )
