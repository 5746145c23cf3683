/** Installs the functions of a build, and drops builds that no process uses. */
import { Effect } from "effect"
import { codeSchema } from "../database/build.ts"
import type { Build } from "../database/build.ts"
import type { RunStatement } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"

/** How long a build stays after a process last used it. */
const retentionMillis = 30 * 24 * 60 * 60_000

const isInstalled = statement("migration.isInstalled")
const usersOf = statement("migration.usersOf")
const noteUse = statement("migration.noteUse")
const forgetUnused = statement("migration.forgetUnused")
const forgetOlder = statement("migration.forgetOlder")

const create = Effect.fnUntraced(function* (
  run: RunStatement,
  schema: string,
  name: string,
  texts: ReadonlyArray<string>,
) {
  yield* run(`create schema "${name}"`)
  // Functions keep this path. The temporary schema comes last: else a caller's temporary table would
  // stand in for one of the service's.
  yield* run(`set local search_path = "${name}", "${schema}", pg_temp`)
  for (const one of texts) yield* run(`do $sql$ begin ${one} end $sql$`)
  for (const { role } of yield* usersOf.in(run, { schema })) {
    yield* run(`grant usage on schema "${name}" to ${role}`)
    yield* run(`grant execute on all functions in schema "${name}" to ${role}`)
  }
})

const drop = (run: RunStatement, builds: ReadonlyArray<{ readonly name: string }>) =>
  Effect.forEach(builds, ({ name }) => run(`drop schema if exists "${name}" cascade`), {
    discard: true,
  })

/**
 * Makes what is missing of the build, in a transaction that holds the lock, and notes its use and the
 * latest migration that it knows.
 */
export const installBuild = Effect.fnUntraced(function* (
  run: RunStatement,
  schema: string,
  build: Build,
  migration: number,
  now: number,
) {
  const name = codeSchema(schema, build)
  const [found] = yield* isInstalled.in(run, { name })
  if (found?.installed !== true) yield* create(run, schema, name, build.texts)
  yield* noteUse.in(run, { name, now, migration })
})

/** Drops the builds that no process has used for a month. */
export const dropUnusedBuilds = Effect.fnUntraced(function* (run: RunStatement, now: number) {
  const unused = yield* forgetUnused.in(run, {
    before: now - retentionMillis,
  })
  yield* drop(run, unused)
})

/** Drops the builds that are too old for what comes: their rules would hold on to what it removes. */
export const dropOlderBuilds = Effect.fnUntraced(function* (run: RunStatement, oldest: number) {
  yield* drop(run, yield* forgetOlder.in(run, { oldest }))
})
