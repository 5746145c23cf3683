/** Access to the database of a cluster, past the service. */
import * as PgClient from "@effect/sql-pg/PgClient"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect } from "effect"

export const withDatabase =
  ({ database: { database, path, username } }: { readonly database: Omit<TestDatabase, "url"> }) =>
  <A, E, R>(check: Effect.Effect<A, E, R>) =>
    Effect.provide(check, PgClient.layer({ database, path, username }))

/**
 * Moves the stored clock on past the service, which would first wait for the work of the dead;
 * returns how far it then is ahead of the system's. Running processes follow in a moment.
 */
export const passTime = (millis: number) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const [row] = yield* sql<{ readonly offset: number }>`
      insert into clock as present (offset_millis)
      values (${millis})
      on conflict (singleton) do update
      set offset_millis = present.offset_millis + excluded.offset_millis
      returning offset_millis::float8 as "offset"`
    return row!.offset
  })
