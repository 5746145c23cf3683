/** Installs the functions of a build, and drops builds that no process uses. */
import { Effect } from "effect"
import { codeSchema } from "../database/build.ts"
import type { Build } from "../database/build.ts"
import type { RunStatement } from "../database/Database.ts"
import { instant, integer, text } from "../database/Fields.ts"
import { given, statement } from "../database/Statement.ts"

/** How long a build stays after a process last used it. */
const keptMillis = 30 * 24 * 60 * 60_000

const isInstalled = statement("migrate", given({ name: text }))`
select to_regnamespace($name) is not null as installed`

/** Whoever may use the tables may call the functions. */
const usersOf = statement("migrate", given({ schema: text }))`
select case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end as role
from pg_catalog.pg_namespace n
cross join lateral aclexplode(n.nspacl) acl
where n.nspname = $schema
  and acl.privilege_type = 'USAGE'
  and acl.grantee <> n.nspowner`

const noteUse = statement("migrate", given({ name: text, now: instant, migration: integer }))`
insert into builds as noted (name, used_at, migration)
values ($name, $now, $migration)
on conflict (name) do update
set used_at = greatest(noted.used_at, excluded.used_at),
  migration = greatest(noted.migration, excluded.migration)`

/** A build of another role stays, and so does its note. */
const forgetUnused = statement("migrate", given({ before: instant }))`
delete from builds noted
where noted.used_at < $before
  and not exists (
    select
    from pg_catalog.pg_namespace n
    where n.nspname = noted.name
      and not pg_has_role(n.nspowner, 'usage')
  )
returning noted.name`

/** Those that do not know a migration which the tables are about to need. */
const forgetOlder = statement("migrate", given({ oldest: integer }))`
delete from builds noted
where noted.migration < $oldest
returning noted.name`

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
  for (const { role } of yield* usersOf.within<{ readonly role: string }>(run, { schema })) {
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
  const [found] = yield* isInstalled.within<{ readonly installed: boolean }>(run, { name })
  if (found?.installed !== true) yield* create(run, schema, name, build.texts)
  yield* noteUse.within(run, { name, now, migration })
})

/** Drops the builds that no process has used for a month. */
export const dropUnusedBuilds = Effect.fnUntraced(function* (run: RunStatement, now: number) {
  const unused = yield* forgetUnused.within<{ readonly name: string }>(run, {
    before: now - keptMillis,
  })
  yield* drop(run, unused)
})

/** Drops the builds that are too old for what comes: their rules would hold on to what it removes. */
export const dropOlderBuilds = Effect.fnUntraced(function* (run: RunStatement, oldest: number) {
  yield* drop(run, yield* forgetOlder.within<{ readonly name: string }>(run, { oldest }))
})
