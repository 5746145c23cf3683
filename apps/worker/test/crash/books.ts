/** Looking into the database of a cluster, past the service. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect } from "effect"
import type { Cluster } from "./Cluster.ts"

export const withDatabase =
  ({ database: { database, path, username } }: Cluster) =>
  <A, E>(look: Effect.Effect<A, E, PgClient.PgClient>) =>
    Effect.provide(look, PgClient.layer({ database, path, username }))
