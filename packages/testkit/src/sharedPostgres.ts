/** The server of a run of tests (`vitest.config.ts`), with a template that holds all tables. */
import { Effect, Exit, Layer, Scope } from "effect"
import { dirname } from "node:path"
import { EmbeddedPostgres, migratedTemplate, sharedVariable } from "./EmbeddedPostgres.ts"
import type { TestDatabase } from "./EmbeddedPostgres.ts"

/** Starts it, for `EmbeddedPostgres.shared` of all processes of the run; returns what stops it. */
export const sharePostgres = async (
  migrate: (database: TestDatabase) => Effect.Effect<unknown, unknown>,
): Promise<() => Promise<void>> => {
  const scope = Scope.makeUnsafe()
  const start = Effect.gen(function* () {
    const { administer, createDatabase, path } = yield* EmbeddedPostgres
    const testDatabase = yield* createDatabase("template0", ["pg_catalog"])
    yield* migrate(testDatabase)
    yield* administer(`alter database ${testDatabase.database} rename to ${migratedTemplate}`)
    process.env[sharedVariable] = dirname(path)
  })
  const server = Layer.buildWithScope(EmbeddedPostgres.layer(), scope)
  await Effect.runPromise(Effect.flatMap(server, (context) => Effect.provide(start, context)))
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
